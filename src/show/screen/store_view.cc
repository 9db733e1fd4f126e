#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/print.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "base/units.h"
#include "screen/screen.h"

namespace plimsoll::screen {
namespace {

constexpr int kBarWidth = 40;
constexpr size_t kValueColumn = 14;
constexpr std::array kSplits = {"train", "valid", "test"};  // as Meta::split_sizes
constexpr uint64_t kSentencePerMille = 100;  // the point of the hotness curve for the headline

double share_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Prints a line that ends with a bar, without blanks after it.
void print_with_bar(const std::string& text, double share) {
  std::string line = "  " + text + "  " + render_bar(share, kBarWidth);
  line.erase(line.find_last_not_of(' ') + 1);
  print("{}\n", line);
}

void print_field(std::string_view name, const std::string& value) {
  print("  {:<{}}{}\n", name, kValueColumn - 2, value);
}

// "synth (edges 160000, seed 7)": the name of the source and the parameters of its generator.
std::string describe_source(const nlohmann::json& source) {
  if (!source.is_object()) return source.is_null() ? "unknown" : source.dump();
  const auto name = source.find("name");
  std::string text =
      name != source.end() && name->is_string() ? name->get<std::string>() : "unnamed";
  const auto generator = source.find("generator");
  if (generator == source.end() || !generator->is_object()) return text;
  std::string parameters;
  for (const auto& [key, value] : generator->items()) {
    parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", key,
                              value.is_string() ? value.get<std::string>() : value.dump());
  }
  return fmt::format("{} ({})", text, parameters);
}

void print_shape(const graph::Store& store) {
  const graph::Meta& meta = store.meta();
  print("{}\n", store.folder().string());
  print_field("source", wrap(describe_source(meta.source), kValueColumn));
  print_field("nodes", format_count(meta.nodes));
  print_field("edges", fmt::format("{}, {}", format_count(meta.edges), name(meta.direction)));
  print_field("features",
              fmt::format("{} of {}, {} per row", counted(meta.feature_columns, "column"),
                          name(meta.feature_type), counted(meta.row_bytes, "byte")));
  if (meta.first_layer != graph::FirstLayer::none) {
    print_field(
        "",
        fmt::format(
            "sums of {}'s first layer over all neighbours{}", name(meta.first_layer),
            meta.first_layer == graph::FirstLayer::sage ? ", then the node's own features" : ""));
  }
  print_field("order", meta.order == graph::NodeOrder::original
                           ? "as in the source"
                           : fmt::format("hot first, by {}", meta.order == graph::NodeOrder::visits
                                                                 ? "expected visits"
                                                                 : "degree"));
}

void print_files(const graph::Store& store) {
  fmt::print("\nFiles: {} on disk\n", format_bytes(store.size_bytes()));
  std::vector<std::pair<std::string, uint64_t>> files;
  for (const auto& [file, about] : store.meta().files) files.emplace_back(file, about.bytes);
  std::stable_sort(files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [file, bytes] : files) {
    print_with_bar(fmt::format("{:<16}  {:>10}", file, format_bytes(bytes)),
                   share_of(bytes, store.size_bytes()));
  }
}

std::string describe_range(size_t index) {
  const auto [first, last] = graph::degree_range(index);
  if (first == last) return format_count(first);
  return fmt::format("{} - {}", format_count(first), format_count(last));
}

void print_degrees(const graph::DegreeSummary& degrees, uint64_t nodes) {
  fmt::print("\nIn-degree: mean {:.1f}, median {}, 90 % up to {}, 99 % up to {}\n", degrees.mean,
             format_count(degrees.median), format_count(degrees.percentile_90),
             format_count(degrees.percentile_99));
  fmt::print("  from {} to {}; {} ({}) without in-edges\n", format_count(degrees.minimum),
             format_count(degrees.maximum), counted(degrees.nodes_without_in_edges, "node"),
             format_percent(share_of(degrees.nodes_without_in_edges, nodes)));
  const auto& counts = degrees.by_power_of_two;
  if (counts.empty()) return;
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  const size_t width = describe_range(counts.size() - 1).size();
  size_t i = 0;
  while (counts[i] == 0) ++i;
  for (; i < counts.size(); ++i) {
    print_with_bar(fmt::format("{:>{}}  {:>13}  {:>6}", describe_range(i), width,
                               format_count(counts[i]), format_percent(share_of(counts[i], nodes))),
                   share_of(counts[i], most));
  }
}

void print_labels(const graph::LabelSummary& labels, const graph::Meta& meta) {
  fmt::print("\nLabels: {} of {} ({}), {}", format_count(labels.labelled),
             counted(meta.nodes, "node"), format_percent(share_of(labels.labelled, meta.nodes)),
             counted(labels.classes, "class"));
  fmt::print("{}\n", labels.empty_classes == 0
                         ? ""
                         : fmt::format(", {} of them empty", format_count(labels.empty_classes)));
  const auto print_class = [&](std::string_view title,
                               const std::optional<graph::ClassCount>& count) {
    if (!count) return;
    print_field(title,
                fmt::format("{:>13}  {:>6}  class {}", format_count(count->nodes),
                            format_percent(share_of(count->nodes, labels.labelled)), count->label));
  };
  print_class("largest", labels.largest);
  print_class("smallest", labels.smallest);
  for (size_t i = 0; i < kSplits.size(); ++i) {
    print_field(kSplits.at(i),
                fmt::format("{:>13}  {:>6} of the nodes", format_count(meta.split_sizes.at(i)),
                            format_percent(share_of(meta.split_sizes.at(i), meta.nodes))));
  }
}

// 1 -> "0.1 %", 100 -> "10 %"
std::string format_per_mille(uint64_t per_mille) {
  return fmt::format("{:g} %", static_cast<double>(per_mille) / 10);
}

void print_hotness(const std::vector<graph::HotnessPoint>& curve, graph::NodeOrder order) {
  if (curve.empty()) {
    fmt::print("\nHotness: no visits are expected\n");
    return;
  }
  for (const graph::HotnessPoint& point : curve) {
    if (point.rows_per_mille == kSentencePerMille) {
      fmt::print("\nHotness: the first {} of the rows get {} of the {}\n",
                 format_per_mille(point.rows_per_mille), format_percent(point.visits_share),
                 order == graph::NodeOrder::degree ? "edges" : "visits");
    }
  }
  for (const graph::HotnessPoint& point : curve) {
    print_with_bar(fmt::format("{:>6}  {:>13} {:<4}  {:>6}", format_per_mille(point.rows_per_mille),
                               format_count(point.rows), point.rows == 1 ? "row" : "rows",
                               format_percent(point.visits_share)),
                   point.visits_share);
  }
}

}  // namespace

void print_store(const graph::Store& store, const graph::StoreSummary& summary) {
  print_shape(store);
  print_files(store);
  print_degrees(summary.degrees, store.meta().nodes);
  print_labels(summary.labels, store.meta());
  print_hotness(summary.hotness, store.meta().order);
}

}  // namespace plimsoll::screen
