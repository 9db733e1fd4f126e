// The two layouts of an OGB folder, csv.gz and npz. Used only by write_ogb_folder().
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/progress.h"
#include "formats/ogb_folder.h"
#include "ingest/input_graph.h"
#include "io/file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// Writes lines of comma-separated numbers, compressed with gzip at its fastest level. For one
// thread at a time. Call finish() at the end, or the file is truncated.
class CsvGzWriter {
 public:
  CsvGzWriter(memory::Ledger& ledger, const std::filesystem::path& path);
  CsvGzWriter(const CsvGzWriter&) = delete;
  CsvGzWriter& operator=(const CsvGzWriter&) = delete;
  ~CsvGzWriter();

  // Add a field to the current line.
  void add_integer(uint64_t value);
  void add_decimal(float value);  // the shortest text that reads back as the same float
  void end_line();

  // Writes the rest and syncs the file.
  void finish();

  // The longest text of one field, including its separator.
  static constexpr uint64_t kMaxFieldBytes = 24;

 private:
  template <typename T>
  void add(T value);
  void compress(int flush);

  io::FileWriter file_;
  memory::Lease zlib_lease_;
  memory::Buffer<char> text_;
  memory::Buffer<std::byte> packed_;
  z_stream zlib_ = {};
  uint64_t text_bytes_ = 0;
  bool line_has_field_ = false;
};

// The split of every node: 0 = none, else 1 + its SplitKind. For a node in two splits the last one
// counts.
using SplitRoles = memory::Buffer<uint8_t>;

int64_t year_of(const SplitRoles& roles, uint64_t node);

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();  // the label of an unlabelled node

struct OgbWork {
  ingest::InputGraph& source;
  const OgbFolderOptions& options;
  const std::filesystem::path folder;    // where to write
  const std::filesystem::path temp_dir;  // never empty
  memory::Ledger& ledger;
  Progress& progress;

  const ingest::Shape& shape() const { return source.shape(); }
  std::filesystem::path raw(std::string_view file) const { return folder / "raw" / file; }
};

// Throws Error{internal} if the InputGraph does not have one label per node.
void read_all_labels(const OgbWork& work, const ingest::InputGraph::LabelSink& sink);

// Write everything except the splits into the folder raw/, which must exist.
void write_npz_layout(const OgbWork& work, const SplitRoles& roles);
void write_csv_layout(const OgbWork& work, const SplitRoles& roles);

}  // namespace plimsoll::formats
