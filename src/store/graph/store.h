// A store on disk: opening one, verifying it and writing a new one. docs/reference/store-format.md
// describes the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "graph/meta.h"
#include "io/file.h"
#include "io/partial_file.h"
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

// Checks the version, the fields of meta.json and the size of every file, but does not read the
// other files. Throws Error{store} that names the file and both values, Error{io} if there is no
// such folder.
Store open(const std::filesystem::path& folder);

// Reads every file and compares the checksums; throws Error{store} at the first that differs.
// Calls `on_bytes` after every piece read.
void verify(const Store& store, memory::Ledger& ledger,
            const std::function<void(uint64_t bytes)>& on_bytes);

// Writes a store file by file. The folder gets its final name only in commit(), when it is
// complete.
class StoreWriter {
 public:
  StoreWriter(const std::filesystem::path& target, bool replace, memory::Ledger& ledger)
      : folder_(target, replace), ledger_(ledger) {}

  // Opens the store's next file. Call close_file() before opening another.
  io::FileWriter& open_file(const std::string& name);
  void close_file();
  // Takes over a file of another store: as a hard link if the disk allows it, else as a copy.
  // Throws Error{store} if the copy's checksum is not the one in `about`.
  void take_file(const std::string& name, const std::filesystem::path& from, const FileMeta& about);

  const io::StagedFolder& folder() const { return folder_; }

  // Writes meta.json and gives the folder its final name. Fills in `meta.files` itself.
  void commit(Meta meta);

 private:
  io::StagedFolder folder_;
  memory::Ledger& ledger_;
  std::string name_;
  std::optional<io::FileWriter> writer_;
  std::map<std::string, FileMeta> files_;
};

// One checksum for the whole store: XXH3-64 over its files' checksums, in the order of their names.
std::string store_checksum(const Store& store);

// The name of the store's source, or the folder's name without .plim.
std::string dataset_name(const Store& store);

}  // namespace plimsoll::graph
