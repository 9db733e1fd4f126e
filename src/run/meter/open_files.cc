#include "meter/open_files.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::meter {
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

}  // namespace plimsoll::meter
