#include "meter/gpu_processes.h"

#include <dirent.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/host.h"
#include "process/proc_stat.h"

namespace plimsoll::meter {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostCommandBytes = 80;

std::string command_line(const fs::path& folder, const std::string& name) {
  std::string text = read_text(folder / "cmdline").value_or("");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  if (text.empty()) text = name;  // a kernel thread, or a zombie
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
  const auto stat = read_text(folder / "stat");
  const auto process = process::parse_stat(stat.value_or(""));
  struct stat owner {};
  if (!process || ::stat(folder.c_str(), &owner) != 0) return {};
  return ProcessInfo{.start_ticks = process->start_ticks,
                     .user_id = owner.st_uid,
                     .user = user_name(owner.st_uid),
                     .command = command_line(folder, process->name)};
}

namespace {

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Names that are numbers, with the folder's descriptor. A folder that may not be read has none.
void each_number(const std::string& path, const std::function<void(int folder, const char*)>& see) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  if (!folder) return;
  // One thread reads one folder: readdir is safe there.
  while (const dirent* entry = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
      see(dirfd(folder.get()), static_cast<const char*>(entry->d_name));
    }
  }
}

}  // namespace

std::vector<DeviceUser> device_users(const std::filesystem::path& proc) {
  constexpr std::string_view kGpu = "/dev/nvidia";
  std::vector<DeviceUser> users;
  each_number(proc.string(), [&](int, const char* name) {
    const auto pid = whole_number<pid_t>(name);
    if (!pid) return;
    DeviceUser user{.pid = *pid, .minors = {}};
    bool has_cuda_memory = false;
    each_number((proc / name / "fd").string(), [&](int folder, const char* fd) {
      std::array<char, 64> target;
      const ssize_t size = readlinkat(folder, fd, target.data(), target.size());
      if (size <= 0) return;
      const std::string_view file(target.data(), static_cast<size_t>(size));
      if (!file.starts_with(kGpu)) return;
      if (file == "/dev/nvidia-uvm") has_cuda_memory = true;
      const auto minor = whole_number<unsigned>(file.substr(kGpu.size()));
      if (minor && std::ranges::find(user.minors, *minor) == user.minors.end()) {
        user.minors.push_back(*minor);
      }
    });
    if (has_cuda_memory && !user.minors.empty()) users.push_back(std::move(user));
  });
  return users;
}

namespace {

// {u32 pid, u64 bytes}; with two u32 instance ids since driver 450; with a further u64 of protected
// memory in some drivers from 525 on.
constexpr std::array<size_t, 3> kEntrySizes = {24, 32, 16};
constexpr uint64_t kNotAvailable = ~uint64_t{0};

size_t written_bytes(std::span<const std::byte> memory) {
  size_t end = memory.size();
  while (end > 0 && memory[end - 1] == kUnwritten) --end;
  return end;
}

std::vector<ListedProcess> parse(std::span<const std::byte> memory, unsigned count,
                                 size_t entry_bytes) {
  std::vector<ListedProcess> processes;
  for (size_t i = 0; i < count && (i + 1) * entry_bytes <= memory.size(); ++i) {
    uint32_t pid = 0;
    uint64_t bytes = 0;
    std::memcpy(&pid, memory.data() + i * entry_bytes, sizeof pid);
    std::memcpy(&bytes, memory.data() + i * entry_bytes + 8, sizeof bytes);
    const bool known = bytes != kNotAvailable;
    processes.push_back(
        {static_cast<pid_t>(pid), known ? std::optional<uint64_t>(bytes) : std::nullopt});
  }
  return processes;
}

}  // namespace

std::vector<ListedProcess> parse_process_list(std::span<const std::byte> memory, unsigned count,
                                              const std::function<bool(pid_t)>& exists) {
  if (count == 0) return {};
  const size_t written = written_bytes(memory);
  for (const size_t size : kEntrySizes) {
    if (written == size * count) return parse(memory, count, size);
  }
  std::vector<ListedProcess> best;
  int64_t most_existing = -1;
  for (const size_t size : kEntrySizes) {
    auto processes = parse(memory, count, size);
    const int64_t existing = std::count_if(
        processes.begin(), processes.end(),
        [&](const ListedProcess& process) { return process.pid > 0 && exists(process.pid); });
    if (existing > most_existing) {
      most_existing = existing;
      best = std::move(processes);
    }
  }
  return best;
}

}  // namespace plimsoll::meter
