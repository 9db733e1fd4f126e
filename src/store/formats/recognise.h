// Finds out what is at a path that a user gave: a store, or files of a graph in some layout. If a
// command cannot read it, the message says what it is and which command would work.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::formats {

// All three throw Error{io} if the path cannot be accessed; it does not count as missing.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);
bool is_store(const std::filesystem::path& folder);

// The first of stem + ending that exists.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder,
                                               std::string_view stem,
                                               std::span<const std::string_view> endings);

// The names of all entries of `folder`, or only of its folders, sorted; empty if it is missing.
std::vector<std::string> list_entries(const std::filesystem::path& folder);
std::vector<std::string> list_folders(const std::filesystem::path& folder);

// Which files of an OGB data set are directly in a folder.
enum class OgbFiles { none, npz, csv, npy };
OgbFiles ogb_files_in(const std::filesystem::path& folder);

// The data set whose raw/ folder this is; empty if it is not such a folder.
std::filesystem::path data_set_of_raw(const std::filesystem::path& folder);

// The text for a message: "an OGB data set; make a store of it: plimsoll import ogb arxiv --out
// arxiv.plim". The path must exist. Skips entries that cannot be read.
std::string recognise(const std::filesystem::path& path);

// Throw Error{input} that says what `file` is if it is a folder or has the ending of another
// format, and Error{io} if it is missing.
void check_is_npz(const std::filesystem::path& file);
void check_is_text(const std::filesystem::path& file);

}  // namespace plimsoll::formats
