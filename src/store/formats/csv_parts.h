// Edges, features, labels and node lists from csv files, plain or gzip. A header is passed over;
// one that says that the columns are others than those expected is Error{input}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/progress.h"
#include "formats/csv.h"
#include "formats/graph_parts.h"

namespace plimsoll::formats {

// Reads the file once, parses nothing and leaves a header out. `progress` may be missing.
StatedCount count_csv_lines(const std::filesystem::path& file, Progress* progress);

// A file of one line, one count, as OGB's num-node-list.
StatedCount read_csv_count(const std::filesystem::path& file);

// "source,destination" a line; as many lines as stated.
std::unique_ptr<EdgeReader> open_csv_edges(const std::filesystem::path& file, uint64_t nodes,
                                           StatedCount edges);

// One node a line, as many fields as the first line has. A call of next() takes up to 1 MiB of text
// and so may return fewer rows than fit.
std::unique_ptr<FeatureReader> open_csv_features(const std::filesystem::path& file,
                                                 StatedCount nodes);

// One label a line; "nan" or -1 = unlabelled.
std::unique_ptr<LabelReader> open_csv_labels(const std::filesystem::path& file, StatedCount nodes);

// One id a line.
std::unique_ptr<IdListReader> open_csv_ids(const std::filesystem::path& file, uint64_t nodes);

}  // namespace plimsoll::formats
