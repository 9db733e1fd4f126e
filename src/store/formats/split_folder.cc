#include "formats/split_folder.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "formats/csv_parts.h"
#include "formats/file_search.h"
#include "formats/npy_parts.h"

namespace plimsoll::formats {
namespace {

constexpr std::array<std::string_view, 3> kEndings = {".csv.gz", ".csv", ".npy"};

std::unique_ptr<IdListReader> open_list(const InputItem& item, const StatedCount& nodes) {
  if (item.ending != ".npy") return open_csv_ids(item.location.file, nodes.count);
  const bool mask = parse_npy_header(*open_npy(item.location)).dtype == Dtype::boolean;
  return mask ? open_npy_mask(item.location, nodes, std::nullopt)
              : open_npy_ids(item.location, nodes.count);
}

}  // namespace

bool holds_split(const std::filesystem::path& folder) {
  return std::any_of(ingest::kSplits.begin(), ingest::kSplits.end(), [&](ingest::SplitKind split) {
    return find_file(folder, name(split), kEndings).has_value();
  });
}

SplitReaders open_split_folder(const std::filesystem::path& folder, const StatedCount& nodes,
                               NotRead& not_read) {
  if (!is_folder(folder)) {
    fail(ErrorKind::io, "{} is no folder; it should hold train.csv, valid.csv and test.csv",
         folder.string());
  }
  Ignored nothing({});
  InputItems files("", nothing);
  files.add_folder(folder);
  SplitReaders readers;
  for (const ingest::SplitKind split : ingest::kSplits) {
    const std::array<std::string_view, 1> stem = {name(split)};
    const auto file = files.take(stem, kEndings);
    if (!file) {
      fail(ErrorKind::input,
           "{} has no {}.csv.gz, .csv or .npy; a split is train, valid and test; it holds: {}",
           folder.string(), name(split), files.list());
    }
    readers.at(static_cast<size_t>(split)) = open_list(*file, nodes);
  }
  not_read.add(files.rest());
  return readers;
}

}  // namespace plimsoll::formats
