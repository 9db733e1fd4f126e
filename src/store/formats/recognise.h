// What a user has named: a store, or files of a graph in some layout, and the command for them.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::formats {

// Which of the files that a layout may have are there.

// A file that may be there but cannot be looked at is Error{io}, not missing.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
bool is_store(const std::filesystem::path& folder);

// The first of stem + ending that is there.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder,
                                               std::string_view stem,
                                               std::span<const std::string_view> endings);

// The names of all that is in `folder`, or of its folders, sorted; none where it is missing.
std::vector<std::string> list_entries(const std::filesystem::path& folder);
std::vector<std::string> list_folders(const std::filesystem::path& folder);

// What lies at a path, for commands that were given something else than they read: a message then
// says what it is and which command would work.

// The files of an OGB data set that lie in a folder itself.
enum class OgbFiles { none, npz, csv, npy };
OgbFiles ogb_files_in(const std::filesystem::path& folder);

// The data set whose raw/ folder this is; empty where it is none.
std::filesystem::path data_set_of_raw(const std::filesystem::path& folder);

// "an OGB data set; make a store of it: plimsoll import ogb arxiv --out arxiv.plim". The path
// exists. What cannot be looked into is passed over: this is for a message.
std::string recognise(const std::filesystem::path& path);

// Throw Error{input} that says what `file` is where it is a folder or has the name of another
// format, Error{io} where it is missing.
void check_is_npz(const std::filesystem::path& file);
void check_is_text(const std::filesystem::path& file);

}  // namespace plimsoll::formats
