#include "serve/folder_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/run_files.h"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

// Never through a symbolic link, except for the first folder.
OpenFolder open_folder(int parent, const char* name, bool follow) {
  const int fd =
      ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
  if (fd < 0) return nullptr;
  OpenFolder folder(::fdopendir(fd));
  if (!folder) ::close(fd);
  return folder;
}

// Whether it may be one that pages show. Folders of data have many others.
bool is_of_a_run(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kEndings = {
      ".json", ".sqlite", ".sqlite-wal", ".log", ".out", ".csv", ".pth"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

uint64_t mark_of(const struct stat& file) {
  uint64_t mark = mixed(uint64_t{file.st_ino}, static_cast<uint64_t>(file.st_size));
  mark = mixed(mark, static_cast<uint64_t>(file.st_mtim.tv_sec));
  return mixed(mark, static_cast<uint64_t>(file.st_mtim.tv_nsec));
}

class Walk {
 public:
  Walk(const LookOptions& options, FolderMarks& marks) : options_(options), marks_(marks) {}

  void look(DIR* folder, const std::string& name, size_t depth) {
    uint64_t mark = 0;
    bool batch = false;
    std::vector<std::string> below;
    while (const dirent* entry = ::readdir(folder)) {
      const std::string_view file = entry->d_name;
      if (file == "." || file == "..") continue;
      const bool is_known = entry->d_type != DT_UNKNOWN;  // some file systems do not say
      if (is_known && entry->d_type != DT_DIR && !is_of_a_run(file)) continue;
      struct stat facts = {};
      if (entry->d_type == DT_DIR) {
        facts.st_mode = S_IFDIR;
      } else if (::fstatat(::dirfd(folder), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;
      }
      if (S_ISDIR(facts.st_mode)) {
        if (!file.starts_with('.')) below.emplace_back(file);
      } else if (S_ISREG(facts.st_mode) && is_of_a_run(file)) {
        mark += mixed(mark_of(facts), file);  // in any order
        batch |= file == kJournalFile;
      }
    }
    marks_[name] = mark;
    if (batch || depth == options_.depth) return;
    for (const std::string& one : below) {
      if (marks_.size() >= options_.most_folders) return;
      const OpenFolder next = open_folder(::dirfd(folder), one.c_str(), /*follow=*/false);
      if (next) look(next.get(), name == "." ? one : fmt::format("{}/{}", name, one), depth + 1);
    }
  }

 private:
  const LookOptions& options_;
  FolderMarks& marks_;
};

}  // namespace

uint64_t mixed(uint64_t mark, uint64_t value) {
  mark ^= value + 0x9e3779b97f4a7c15U + (mark << 6U) + (mark >> 2U);
  mark *= 0xff51afd7ed558ccdU;
  return mark ^ (mark >> 33U);
}

uint64_t mixed(uint64_t mark, std::string_view text) {
  for (const char c : text) mark = mixed(mark, static_cast<unsigned char>(c));
  return mixed(mark, text.size());
}

FolderMarks look_into(const fs::path& folder, const LookOptions& options) {
  FolderMarks marks;
  const OpenFolder first = open_folder(AT_FDCWD, folder.c_str(), /*follow=*/true);
  if (first) Walk(options, marks).look(first.get(), ".", 0);
  return marks;
}

bool stays_inside(const fs::path& folder, const fs::path& path) {
  std::error_code missing;
  const fs::path real = fs::canonical(path, missing);
  if (missing) return false;
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), real.begin(), real.end());
  return end == folder.end();
}

}  // namespace plimsoll::serve
