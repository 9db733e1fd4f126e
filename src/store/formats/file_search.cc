#include "formats/file_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) fail_errno("look at", path.string(), error.value());
  return status;
}

}  // namespace

bool is_there(const fs::path& path) { return fs::exists(status_of(path)); }
bool is_folder(const fs::path& path) { return fs::is_directory(status_of(path)); }

std::optional<fs::path> find_file(const fs::path& folder, std::string_view stem,
                                  std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings) {
    fs::path file = folder / fmt::format("{}{}", stem, ending);
    if (is_there(file)) return file;
  }
  return std::nullopt;
}

std::vector<std::string> list_entries(const fs::path& folder) {
  std::vector<std::string> names;
  if (!is_folder(folder)) return names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) fail_errno("list", folder.string(), error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> list_folders(const fs::path& folder) {
  std::vector<std::string> names = list_entries(folder);
  std::erase_if(names, [&](const std::string& name) { return !is_folder(folder / name); });
  return names;
}

}  // namespace plimsoll::formats
