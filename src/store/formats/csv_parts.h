// Edges, features, labels and node lists from csv files, plain or gzip. A header is skipped; if its
// names show that the columns are not the expected ones, Error{input} is thrown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/progress.h"
#include "formats/csv.h"
#include "formats/graph_parts.h"

namespace plimsoll::formats {

// Reads the file once without parsing it and does not count a header. `progress` may be nullptr.
StatedCount count_csv_lines(const std::filesystem::path& file, Progress* progress);

// Reads a file with a single count, such as OGB's num-node-list.
StatedCount read_csv_count(const std::filesystem::path& file);

// "source,destination" on each line; the file must have as many lines as stated.
std::unique_ptr<EdgeReader> open_csv_edges(const std::filesystem::path& file, uint64_t nodes,
                                           StatedCount edges);

// One node per line; every line must have as many fields as the first. next() takes up to about
// 1 MiB of text at a time, so it may return fewer rows than fit.
std::unique_ptr<FeatureReader> open_csv_features(const std::filesystem::path& file,
                                                 StatedCount nodes);

// One label per line; "nan" or -1 = unlabelled.
std::unique_ptr<LabelReader> open_csv_labels(const std::filesystem::path& file, StatedCount nodes);

// One node id per line.
std::unique_ptr<IdListReader> open_csv_ids(const std::filesystem::path& file, uint64_t nodes);

}  // namespace plimsoll::formats
