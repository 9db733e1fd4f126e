// A store on disk, opened for reading. docs/store-format.md describes the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "graph/meta.h"
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

}  // namespace plimsoll::graph
