// What lies at a path, for commands that were given something else than they read: a message then
// says what it is and which command would work.
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll::formats {

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
