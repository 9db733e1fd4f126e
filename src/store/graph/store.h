// A store on disk, opened for reading. docs/store-format.md describes the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "graph/meta.h"
#include "io/file.h"
#include "io/staged_folder.h"
#include "memory/ledger.h"

namespace plimsoll::graph {

class Store {
 public:
  const Meta& meta() const { return meta_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  std::filesystem::path features_file() const;
  uint64_t size_bytes() const;  // of all files, meta.json included

 private:
  friend Store open(const std::filesystem::path& folder);
  std::filesystem::path folder_;
  Meta meta_;
  uint64_t meta_bytes_ = 0;
};

// Checks version, fields and every file's size; reads nothing else. Throws Error{store} with the
// file and both values.
Store open(const std::filesystem::path& folder);

// Reads every file again and compares checksums; throws Error{store} at the first that differs.
// `on_bytes` is told of every piece read.
void verify(const Store& store, memory::Ledger& ledger,
            const std::function<void(uint64_t bytes)>& on_bytes);

// Writes a store file by file into a folder that appears only when it is whole.

class StoreWriter {
 public:
  StoreWriter(const std::filesystem::path& target, bool replace, memory::Ledger& ledger)
      : folder_(target, replace), ledger_(ledger) {}

  // Opens the store's next file; finish it with close_file before the next one.
  io::FileWriter& open_file(const std::string& name);
  void close_file();
  // Takes a file of another store over: by a link where both are on one disk, else as a copy.
  void take_file(const std::string& name, const std::filesystem::path& from, const FileMeta& about);

  const io::StagedFolder& folder() const { return folder_; }

  // Writes meta.json (its `files` are filled in here) and gives the folder its name.
  void commit(Meta meta);

 private:
  io::StagedFolder folder_;
  memory::Ledger& ledger_;
  std::string name_;
  std::optional<io::FileWriter> writer_;
  std::map<std::string, FileMeta> files_;
};

}  // namespace plimsoll::graph
