// Which of the files that a layout may have are there.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::formats {

// A file that may be there but cannot be looked at is Error{io}, not missing.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

// The first of stem + ending that is there.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder,
                                               std::string_view stem,
                                               std::span<const std::string_view> endings);

// The names of all that is in `folder`, or of its folders, sorted; none where it is missing.
std::vector<std::string> list_entries(const std::filesystem::path& folder);
std::vector<std::string> list_folders(const std::filesystem::path& folder);

}  // namespace plimsoll::formats
