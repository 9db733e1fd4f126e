#include "base/shell_word.h"
#include "formats/array_graph.h"
#include "formats/file_graph.h"
#include "formats/open_graph.h"
#include "formats/recognise.h"

namespace plimsoll::formats {

std::unique_ptr<FileGraph> open_npz(const std::filesystem::path& file,
                                    const ReadingOptions& reading) {
  check_is_npz(file);
  Ignored ignored(reading.ignore);
  InputItems arrays("plimsoll import npz " + shell_word(file.string()), ignored);
  arrays.add_archive(file);
  GraphParts parts = open_array_graph(arrays, file.string(), reading.mask_column);
  parts.not_read = arrays.rest();
  ignored.check_all_met(file.string());
  return std::make_unique<FileGraph>(std::move(parts));
}

}  // namespace plimsoll::formats
