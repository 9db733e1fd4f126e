// A journal as it was at one moment, copied without a lock and without write access: whoever looks
// at a run neither waits for its driver nor makes it wait, and needs nothing but the right to read.
#pragma once

#include <filesystem>
#include <functional>

namespace plimsoll::experiment {

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
