#include "meter/process_info.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "memory/host.h"

namespace plimsoll::meter {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostCommandBytes = 80;

// The name of the program may hold blanks and parentheses: fields are counted from its end.
std::optional<uint64_t> start_ticks(const std::string& stat) {
  const size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream rest(stat.substr(end_of_name + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) rest >> field;
  return memory::leading_number(field);
}

std::string command_line(const fs::path& folder, const std::string& stat) {
  std::string text = memory::read_text(folder / "cmdline").value_or("");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  if (text.empty()) {  // a kernel thread, or a zombie
    const size_t open = stat.find('(');
    const size_t close = stat.rfind(')');
    if (open < close) text = stat.substr(open + 1, close - open - 1);
  }
  if (text.size() > kMostCommandBytes) text = text.substr(0, kMostCommandBytes - 3) + "...";
  return text;
}

std::string user_name(uid_t id) {
  std::array<char, 4096> memory;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(id, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return fmt::format("user {}", id);
}

}  // namespace

std::optional<ProcessInfo> process_info(const fs::path& proc, pid_t pid) {
  const fs::path folder = proc / std::to_string(pid);
  const auto stat = memory::read_text(folder / "stat");
  const auto start = stat ? start_ticks(*stat) : std::nullopt;
  struct stat owner {};
  if (!start || ::stat(folder.c_str(), &owner) != 0) return {};
  return ProcessInfo{.start_ticks = *start,
                     .user_id = owner.st_uid,
                     .user = user_name(owner.st_uid),
                     .command = command_line(folder, *stat)};
}

}  // namespace plimsoll::meter
