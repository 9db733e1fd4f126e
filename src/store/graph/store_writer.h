// Writes a store file by file into a folder that appears only when it is whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "graph/meta.h"
#include "io/file.h"
#include "io/staged_folder.h"
#include "memory/ledger.h"

namespace plimsoll::graph {

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
