#include "experiment/journal_copy.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "base/fd.h"
#include "base/run_files.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kTries = 100;
constexpr size_t kLogHeaderBytes = 32;
constexpr size_t kCopyBytes = size_t{1} << 20;

fs::path log_of(const fs::path& journal) { return journal.string() + "-wal"; }

Fd open_to_read(const fs::path& file) { return Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)); }

// Changes if something was overwritten that a copy may have missed. The driver only appends to the
// log until all of it is in the file; then it restarts the log with a new header. So a page of the
// file that changes during the copy is also in the log, and the log takes precedence.
struct Version {
  std::string log_header;  // empty if there is no log
  ino_t file = 0;
  off_t file_bytes = 0;  // size and time matter only without a log
  timespec file_time = {};

  bool same_as(const Version& other) const {
    if (log_header != other.log_header || file != other.file) return false;
    return !log_header.empty() ||
           std::tuple(file_bytes, file_time.tv_sec, file_time.tv_nsec) ==
               std::tuple(other.file_bytes, other.file_time.tv_sec, other.file_time.tv_nsec);
  }
};

Version version_of(const fs::path& journal) {
  Version version;
  std::array<char, kLogHeaderBytes> header = {};
  if (const Fd log = open_to_read(log_of(journal))) {
    const ssize_t count = ::pread(log.get(), header.data(), header.size(), 0);
    if (count < 0) fail_errno("read", log_of(journal).string(), errno);
    version.log_header.assign(header.data(), static_cast<size_t>(count));
  } else if (errno != ENOENT) {
    fail_errno("read", log_of(journal).string(), errno);
  }
  struct stat status = {};
  if (::stat(journal.c_str(), &status) != 0) fail_errno("read", journal.string(), errno);
  version.file = status.st_ino;
  version.file_bytes = status.st_size;
  version.file_time = status.st_mtim;
  return version;
}

// If the log does not exist, the file is complete, so the copy has no log either.
void copy_bytes(const fs::path& from, const fs::path& to) {
  const Fd source = open_to_read(from);
  if (!source && errno == ENOENT) {
    fs::remove(to);
    return;
  }
  if (!source) fail_errno("read", from.string(), errno);
  const Fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!target) fail_errno("write", to.string(), errno);
  ssize_t count = 0;
  do {
    count = ::sendfile(target.get(), source.get(), nullptr, kCopyBytes);
  } while (count > 0 || (count < 0 && errno == EINTR));
  if (count < 0) fail_errno("copy to", to.string(), errno);
}

fs::path private_folder() {
  const char* chosen = std::getenv("TMPDIR");
  for (const char* place : {chosen, "/tmp", "/dev/shm", "/var/tmp"}) {
    if (place == nullptr) continue;
    std::string name = (fs::path(place) / "plimsoll-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) return name;
  }
  fail(
      ErrorKind::io,
      "cannot make a folder for a copy of the journal: /tmp is not writable; set TMPDIR to another "
      "folder");
}

}  // namespace

JournalCopy::JournalCopy(const fs::path& journal, const std::function<void()>& between)
    : folder_(private_folder()) {
  try {
    for (unsigned i = 0; i < kTries; ++i) {
      const Version before = version_of(journal);
      copy_bytes(journal, file());
      if (between) between();
      copy_bytes(log_of(journal), log_of(file()));
      if (version_of(journal).same_as(before)) return;
    }
    fail(ErrorKind::io, "the journal {} changed {} times while it was copied; try again",
         journal.string(), kTries);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
}

JournalCopy::~JournalCopy() {
  std::error_code ignored;  // a destructor cannot report it
  fs::remove_all(folder_, ignored);
}

fs::path JournalCopy::file() const { return folder_ / kJournalFile; }

}  // namespace plimsoll::experiment
