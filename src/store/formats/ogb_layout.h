// The two layouts that a folder of the Open Graph Benchmark can have: csv.gz, and npz.
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

// Lines of numbers, separated by commas and compressed with gzip at its fastest level.

// From one thread at a time. Call finish(): a file without it is cut off.
class CsvGzWriter {
 public:
  CsvGzWriter(memory::Ledger& ledger, const std::filesystem::path& path);
  CsvGzWriter(const CsvGzWriter&) = delete;
  CsvGzWriter& operator=(const CsvGzWriter&) = delete;
  ~CsvGzWriter();

  // A field of the current line.
  void add_integer(uint64_t value);
  void add_decimal(float value);  // the shortest text that reads back as the same float
  void end_line();

  // Writes the rest and syncs the file.
  void finish();

  // The longest text of one field, its separator included.
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

// What the two layouts of an OGB folder share; for the writer of the folder alone.

// A node's part in the splits: 0 = none, else 1 + its Split. A node in two splits keeps the last
// one.
using SplitRoles = memory::Buffer<uint8_t>;

int64_t year_of(const SplitRoles& roles, uint64_t node);

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();  // the label of an unlabelled node

// What writing a folder takes.
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

// Throws Error{internal} where the InputGraph has more or fewer labels than nodes.
void read_all_labels(const OgbWork& work, const ingest::InputGraph::LabelSink& sink);

// Everything but the splits, into the folder raw/, which exists.
void write_npz_layout(const OgbWork& work, const SplitRoles& roles);
void write_csv_layout(const OgbWork& work, const SplitRoles& roles);

}  // namespace plimsoll::formats
