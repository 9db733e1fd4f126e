// The journal of one run: queue, attempts and results in an SQLite file in the run's folder.
// Written before a process starts and when it has ended, so that whoever comes later knows what was
// done, what was under way, and what is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

struct sqlite3;

namespace plimsoll::experiment {

// What the journal keeps about an experiment; the texts are JSON, made by record.h.
struct JournalEntry {
  int64_t number = 0;
  std::string id;
  std::string plan;
  std::string result;  // empty until it is finished
};

struct JournalAttempt {
  int64_t experiment = 0;
  int64_t number = 0;
  std::string plan;
  std::string process;  // who supervised it, as record.h writes it; empty before it started
  std::string result;   // empty while it runs, and for ever where the driver was killed
};

// An experiment that is to run again: what its attempts say from now on.
struct Reopened {
  int64_t experiment = 0;
  std::vector<JournalAttempt> attempts;
};

class Journal {
 public:
  // Throws Error{exists} where the folder has one.
  static Journal create(const std::filesystem::path& folder, const std::string& settings,
                        const std::vector<JournalEntry>& queue);
  // Throws Error{io} where there is none, Error{input} where it is of another version.
  static Journal open(const std::filesystem::path& folder);
  // For looking at a run, whoever drives it: as it is now, in a copy. Needs the right to read.
  static Journal open_to_read(const std::filesystem::path& folder);

  std::string settings() const;
  std::vector<JournalEntry> entries() const;
  std::vector<JournalAttempt> attempts() const;

  // In this order. A kill of this process loses none of them; a loss of power none that
  // begin_attempt() or finish() returned after.
  void begin_attempt(int64_t experiment, int64_t number, const std::string& plan);
  void attempt_started(int64_t experiment, int64_t number, const std::string& process);
  void end_attempt(int64_t experiment, int64_t number, const std::string& result);
  void finish(int64_t experiment, const std::string& result);

  // Takes the results of finished experiments back: all of them, or none where it fails.
  void reopen(const std::vector<Reopened>& experiments);

  // Why the last driver paused the batch; empty where it did not.
  std::string paused() const;
  void set_paused(const std::string& why);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Journal(const std::filesystem::path& file, int flags);
  void check(const std::filesystem::path& folder) const;
  void run(const char* sql, const std::vector<std::string>& texts,
           const std::vector<int64_t>& numbers) const;
  void run_unsynced(const char* sql, const std::vector<std::string>& texts,
                    const std::vector<int64_t>& numbers) const;
  std::vector<std::vector<std::string>> rows(const char* sql) const;
  int64_t number_in(const std::string& cell) const;  // from 1; Error{input} for any other

  std::unique_ptr<sqlite3, Close> database_;
  std::string file_;
};

// Held by the one driver of a run while it lives; the kernel gives it back, however that ends.
class RunLock {
 public:
  // Nothing where somebody else has it; with `wait`, waits for it.
  static std::optional<RunLock> take(const std::filesystem::path& file, bool wait);
  // Whether somebody has it now.
  static bool is_taken(const std::filesystem::path& file);

 private:
  explicit RunLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

// A journal as it was at one moment, copied without a lock and without write access: whoever looks
// at a run neither waits for its driver nor makes it wait, and needs nothing but the right to read.

// The file and its write-ahead log, in a private folder that goes with this.
class JournalCopy {
 public:
  // Throws Error{io} where the journal cannot be read, or there is no place for the copy.
  // `between` is called when the file is copied and the log is not: a test writes then.
  explicit JournalCopy(const std::filesystem::path& journal,
                       const std::function<void()>& between = {});
  JournalCopy(const JournalCopy&) = delete;
  JournalCopy& operator=(const JournalCopy&) = delete;
  ~JournalCopy();

  std::filesystem::path file() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace plimsoll::experiment
