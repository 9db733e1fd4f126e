#include "formats/split_folder.h"

#include <string_view>

#include "base/error.h"
#include "formats/csv_parts.h"
#include "formats/file_search.h"
#include "formats/npy_parts.h"

namespace plimsoll::formats {

SplitReaders open_split_folder(const std::filesystem::path& folder, uint64_t nodes) {
  constexpr std::array<std::string_view, 3> kEndings = {".csv.gz", ".csv", ".npy"};
  if (!is_folder(folder)) {
    fail(ErrorKind::io, "{} is no folder; it should hold train.csv, valid.csv and test.csv",
         folder.string());
  }
  SplitReaders readers;
  for (const Split split : kSplits) {
    const auto file = find_file(folder, name(split), kEndings);
    if (!file) {
      fail(ErrorKind::input, "{} has no {}.csv.gz, .csv or .npy; a split is train, valid and test",
           folder.string(), name(split));
    }
    readers.at(static_cast<size_t>(split)) =
        file->extension() == ".npy" ? open_npy_ids({*file, ""}, nodes) : open_csv_ids(*file, nodes);
  }
  return readers;
}

}  // namespace plimsoll::formats
