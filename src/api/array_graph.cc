#include "api/array_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "formats/file_graph.h"
#include "formats/graph_parts.h"
#include "ingest/build.h"
#include "memory/ledger.h"
#include "memory/limit.h"
#include "memory/usage.h"

namespace plimsoll::api {
namespace {

using ingest::InputPart;

constexpr uint64_t kEdgesAtOnce = 65536;
constexpr uint64_t kRowsAtOnce = 1024;
constexpr uint64_t kLabelsAtOnce = 65536;

std::string_view name(InputPart part) {
  constexpr std::array<std::string_view, 6> kNames = {"edges", "features", "labels",
                                                      "train", "valid",    "test"};
  return kNames.at(static_cast<size_t>(part));
}

void check_array(const plimsoll_array& array, InputPart part,
                 std::initializer_list<plimsoll_type> types, std::string_view words) {
  const auto is_of = [&](plimsoll_type type) { return array.type == static_cast<uint32_t>(type); };
  if (std::ranges::none_of(types, is_of)) {
    fail(ErrorKind::usage, "the array of {} has type number {}; it must be {}", name(part),
         array.type, words);
  }
  if (array.data == nullptr && array.count > 0) {
    fail(ErrorKind::usage, "the array of {} is a null pointer with {} values", name(part),
         array.count);
  }
}

void check_count(uint64_t count, uint64_t expected, std::string_view what) {
  if (count == expected) return;
  fail(ErrorKind::input, "there are {} {}, but {} are expected; the arrays are not of one graph",
       count, what, expected);
}

template <typename T>
T value_at(const plimsoll_array& array, uint64_t i) {
  T value;
  std::memcpy(&value,
              static_cast<const char*>(array.data) + static_cast<int64_t>(i) * array.stride_bytes,
              sizeof value);
  return value;
}

int64_t whole_number_at(const plimsoll_array& array, uint64_t i) {
  return array.type == PLIMSOLL_I32 ? value_at<int32_t>(array, i) : value_at<int64_t>(array, i);
}

std::optional<int32_t> label_at(const plimsoll_array& array, uint64_t i) {
  if (array.type == PLIMSOLL_F32) return formats::label_of(double{value_at<float>(array, i)});
  if (array.type == PLIMSOLL_F64) return formats::label_of(value_at<double>(array, i));
  return formats::label_of(whole_number_at(array, i));
}

// A row of features; its values are next to each other.
void copy_row(const plimsoll_array& array, uint64_t i, std::span<float> out) {
  const char* row =
      static_cast<const char*>(array.data) + static_cast<int64_t>(i) * array.stride_bytes;
  if (array.type == PLIMSOLL_F32) {
    std::memcpy(out.data(), row, out.size_bytes());
  } else if (array.type == PLIMSOLL_F64) {
    for (size_t j = 0; j < out.size(); ++j) {
      double value = 0;
      std::memcpy(&value, row + j * sizeof value, sizeof value);
      out[j] = static_cast<float>(value);
    }
  } else {
    for (size_t j = 0; j < out.size(); ++j) {
      uint16_t bits = 0;
      std::memcpy(&bits, row + j * sizeof bits, sizeof bits);
      out[j] = from_half(bits);
    }
  }
}

}  // namespace

ArrayGraph::ArrayGraph(const plimsoll_import_options& options) : options_(options) {
  formats::check_node_count({options.nodes, "the number of nodes"});
  check_array(options.sources, InputPart::edges, {PLIMSOLL_I32, PLIMSOLL_I64}, "i32 or i64");
  check_array(options.destinations, InputPart::edges, {PLIMSOLL_I32, PLIMSOLL_I64}, "i32 or i64");
  check_count(options.destinations.count, options.sources.count, "destinations");
  if (options.sources.count == 0) fail(ErrorKind::input, "the graph has no edges");
  check_array(options.features, InputPart::features, {PLIMSOLL_F16, PLIMSOLL_F32, PLIMSOLL_F64},
              "f16, f32 or f64");
  check_count(options.features.count, options.nodes, "rows of features");
  if (options.columns == 0 || options.columns > graph::kMostColumns) {
    fail(ErrorKind::input, "{} columns of features; there must be 1 to {}", options.columns,
         graph::kMostColumns);
  }
  const bool has_labels = options.labels.type != PLIMSOLL_NONE;
  if (has_labels) {
    check_array(options.labels, InputPart::labels,
                {PLIMSOLL_I32, PLIMSOLL_I64, PLIMSOLL_F32, PLIMSOLL_F64}, "i32, i64, f32 or f64");
    check_count(options.labels.count, options.nodes, "labels");
  }
  for (const ingest::SplitKind split : ingest::kSplits) {
    const plimsoll_array& array = options.splits[static_cast<size_t>(split)];
    if (array.type == PLIMSOLL_NONE) continue;
    check_array(array, part_of(split), {PLIMSOLL_I32, PLIMSOLL_I64, PLIMSOLL_BOOL},
                "i32, i64 or bool");
    if (array.type == PLIMSOLL_BOOL) check_count(array.count, options.nodes, "values in a mask");
  }
  shape_ = {.nodes = options.nodes,
            .edges = options.sources.count,
            .feature_columns = static_cast<uint32_t>(options.columns),
            .has_labels = has_labels};
}

size_t ArrayGraph::next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) {
  const uint64_t wanted = std::min<uint64_t>(sources.size(), kEdgesAtOnce);
  const uint64_t first = next_edge_.fetch_add(wanted);
  if (first >= shape_.edges) return 0;
  const uint64_t count = std::min(wanted, shape_.edges - first);
  const auto copy = [&](const plimsoll_array& array, std::span<uint32_t> out) {
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t id = whole_number_at(array, first + i);
      if (id < 0 || static_cast<uint64_t>(id) >= shape_.nodes) {
        formats::fail_id(place(InputPart::edges, first + i), id, shape_.nodes);
      }
      out[i] = static_cast<uint32_t>(id);
    }
  };
  copy(options_.sources, sources);
  copy(options_.destinations, destinations);
  return count;
}

ingest::InputGraph::Rows ArrayGraph::next_rows(std::span<float> values) {
  const uint64_t columns = shape_.feature_columns;
  const uint64_t wanted = std::min<uint64_t>(values.size() / columns, kRowsAtOnce);
  const uint64_t first = next_row_.fetch_add(wanted);
  if (first >= shape_.nodes) return {};
  const uint64_t count = std::min(wanted, shape_.nodes - first);
  for (uint64_t i = 0; i < count; ++i) {
    copy_row(options_.features, first + i, values.subspan(i * columns, columns));
  }
  return {first, count};
}

void ArrayGraph::read_labels(const LabelSink& sink) {
  std::vector<int32_t> labels;
  for (uint64_t first = 0; first < shape_.nodes; first += labels.size()) {
    labels.resize(std::min(kLabelsAtOnce, shape_.nodes - first));
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto label = label_at(options_.labels, first + i);
      if (!label) {
        fail(ErrorKind::input,
             "{}: not a label; labels are whole numbers from 0 to {}, unlabelled is -1 or NaN",
             place(InputPart::labels, first + i), formats::kMaxLabel);
      }
      labels[i] = *label;
    }
    sink(labels);
  }
}

void ArrayGraph::read_splits(const SplitSink& sink) {
  for (const ingest::SplitKind split : ingest::kSplits) read_split(split, sink);
}

void ArrayGraph::read_split(ingest::SplitKind split, const SplitSink& sink) const {
  const plimsoll_array& array = options_.splits[static_cast<size_t>(split)];
  if (array.type == PLIMSOLL_NONE) return;
  for (uint64_t i = 0; i < array.count; ++i) {
    if (array.type == PLIMSOLL_BOOL) {
      if (value_at<uint8_t>(array, i) != 0) sink(split, i, static_cast<uint32_t>(i));
      continue;
    }
    const int64_t id = whole_number_at(array, i);
    if (id < 0 || static_cast<uint64_t>(id) >= shape_.nodes) {
      formats::fail_id(place(part_of(split), i), id, shape_.nodes);
    }
    sink(split, i, static_cast<uint32_t>(id));
  }
}

std::string ArrayGraph::place(InputPart part, uint64_t row) const {
  return fmt::format("the array of {}, row {}", name(part), row);
}

void import_arrays(const plimsoll_import_options& options) {
  if (options.out == nullptr || *options.out == '\0') {
    fail(ErrorKind::usage, "the path of the new store is missing");
  }
  if (options.feature_bits != 0 && options.feature_bits != 16 && options.feature_bits != 32) {
    fail(ErrorKind::usage, "feature_bits is {}; choose 16 or 32", options.feature_bits);
  }
  const std::filesystem::path out = options.out;
  std::error_code unseen;  // what cannot be looked at cannot be written either, which then says why
  if (options.replace == 0 && exists(std::filesystem::symlink_status(out, unseen))) {
    fail(ErrorKind::exists, "{} exists; set replace to replace it, or choose another path",
         out.string());
  }
  ArrayGraph source(options);
  std::optional<uint64_t> wished;
  if (options.memory_bytes > 0) wished = options.memory_bytes;
  const uint64_t limit = memory::choose_limit(wished, memory::detect_limit()).bytes;
  const uint64_t host = memory::process_usage().resident_bytes;
  if (host >= limit) {
    fail(ErrorKind::memory,
         "the limit is {} bytes, and this program already has {}; raise the memory limit", limit,
         host);
  }
  memory::Ledger ledger(limit - host);
  Progress progress(ProgressStyle::silent);
  const std::string stem = (out.has_filename() ? out : out.parent_path()).stem().string();
  ingest::build(
      source,
      {.out = out,
       .replace = options.replace != 0,
       .direction =
           options.undirected != 0 ? graph::Direction::undirected : graph::Direction::directed,
       .features = options.feature_bits == 32 ? graph::FeatureType::f32 : graph::FeatureType::f16,
       .threads = options.threads > 0 ? options.threads : available_threads(),
       .source = {{"name", options.name != nullptr ? std::string(options.name) : stem}}},
      ledger, progress);
}

}  // namespace plimsoll::api
