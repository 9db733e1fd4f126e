// What the two layouts of an OGB folder share; for the writer of the folder alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/progress.h"
#include "formats/ogb_folder.h"
#include "ingest/input_graph.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

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
