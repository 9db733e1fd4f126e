// A consistent copy of a journal: the file and its write-ahead log, in a private folder that the
// destructor removes. It is made without a lock and needs only read access: a reader neither waits
// for the driver nor blocks it.
#pragma once

#include <filesystem>
#include <functional>

namespace plimsoll::experiment {

class JournalCopy {
 public:
  // Throws Error{io} if the journal cannot be read or there is no place for the copy. `between` is
  // called after the file is copied and before the log is; tests use it to write in between.
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
