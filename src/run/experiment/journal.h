// The journal of one run: queue, attempts and results, in an SQLite file in the run's folder. It is
// written before a process starts and after it has ended, so that a later driver knows what was
// done, what was running, and what is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;

namespace plimsoll::experiment {

// What the journal keeps about an experiment. The texts are JSON, made by record.h.
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
  std::string process;  // its supervisor: boot id, pid and start time; empty before it started
  std::string result;   // empty while it runs; stays empty if the driver is killed
};

enum class StepDecision { none, go_on, stop };

// What an experiment reported at a step at which early stopping decides, and the decision.
struct JournalReport {
  int64_t experiment = 0;
  int64_t step = 0;
  std::string report;  // as text
  StepDecision decision = StepDecision::none;
  std::string reason;  // of a stop
};

// An experiment that will run again, with the new content of its attempts.
struct Reopened {
  int64_t experiment = 0;
  std::vector<JournalAttempt> attempts;
};

class Journal {
 public:
  // Throws Error{exists} if the folder already has one.
  static Journal create(const std::filesystem::path& folder, const std::string& settings,
                        const std::vector<JournalEntry>& queue);
  // Throws Error{io} if there is none, Error{input} if it is from another version.
  static Journal open(const std::filesystem::path& folder);
  // Opens a copy of the current state, to look at a run while a driver may use it. Needs only read
  // access.
  static Journal open_to_read(const std::filesystem::path& folder);

  std::string settings() const;
  std::vector<JournalEntry> entries() const;
  std::vector<JournalAttempt> attempts() const;

  // Call them in this order. If this process is killed, no call is lost. After a power loss, all
  // calls up to the last begin_attempt() or finish() that returned are kept.
  void begin_attempt(int64_t experiment, int64_t number, const std::string& plan);
  void attempt_started(int64_t experiment, int64_t number, const std::string& process);
  void end_attempt(int64_t experiment, int64_t number, const std::string& result);
  void finish(int64_t experiment, const std::string& result);

  // Call it before the decision, and again with it. Keeps the first report of a step.
  void report(const JournalReport& report);
  // By experiment and step.
  std::vector<JournalReport> reports() const;

  // A fact about the batch by its name; empty if it is not known.
  std::string fact(const std::string& name) const;
  void set_fact(const std::string& name, const std::string& value);

  // Removes the results of these experiments: all of them, or none if it fails.
  void reopen(const std::vector<Reopened>& experiments);

  // Why the last driver paused the batch; empty if it did not.
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
  int64_t number_in(const std::string& cell) const;  // at least 1; otherwise throws Error{input}

  std::unique_ptr<sqlite3, Close> database_;
  std::string file_;
};

}  // namespace plimsoll::experiment
