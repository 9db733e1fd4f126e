// A graph to be written as an OGB folder, and what its files hold. Everything is read back with
// libzip and zlib alone: what our own readers make of these files is their tests' business.
#pragma once

#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "formats/ogb_folder.h"
#include "temp_folder.h"

namespace plimsoll::formats {

struct MadeGraph {
  uint64_t nodes = 0;
  uint32_t columns = 0;
  std::vector<uint32_t> sources = {};
  std::vector<uint32_t> destinations = {};
  std::vector<float> features = {};
  std::vector<int32_t> labels = {};  // empty = none
  std::array<std::vector<uint32_t>, 3> splits = {};
};

// Hands a MadeGraph out in pieces of a few edges and rows, and may claim another shape than it has.
class FakeSource : public ingest::InputGraph {
 public:
  explicit FakeSource(MadeGraph graph)
      : graph_(std::move(graph)),
        shape_{graph_.nodes, graph_.sources.size(), graph_.columns, !graph_.labels.empty()} {}

  ingest::Shape& claimed_shape() { return shape_; }
  std::function<void()> before_rows = [] {};

  const ingest::Shape& shape() const override { return shape_; }

  size_t next_edges(std::span<uint32_t> sources, std::span<uint32_t> destinations) override {
    const size_t count = std::min({sources.size(), pieces_of, graph_.sources.size() - next_edge_});
    std::copy_n(graph_.sources.begin() + static_cast<ptrdiff_t>(next_edge_), count,
                sources.begin());
    std::copy_n(graph_.destinations.begin() + static_cast<ptrdiff_t>(next_edge_), count,
                destinations.begin());
    next_edge_ += count;
    return count;
  }

  Rows next_rows(std::span<float> values) override {
    before_rows();
    const Rows rows{next_row_, std::min({values.size() / graph_.columns, pieces_of,
                                         graph_.features.size() / graph_.columns - next_row_})};
    std::copy_n(graph_.features.begin() + static_cast<ptrdiff_t>(next_row_ * graph_.columns),
                rows.count * graph_.columns, values.begin());
    next_row_ += rows.count;
    return rows;
  }

  void read_labels(const LabelSink& sink) override {
    std::span<const int32_t> left = graph_.labels;
    while (!left.empty()) {
      const size_t count = std::min(left.size(), pieces_of);
      sink(left.first(count));
      left = left.subspan(count);
    }
  }

  void read_splits(const SplitSink& sink) override {
    for (const ingest::SplitKind split : ingest::kSplits) {
      const std::vector<uint32_t>& nodes = graph_.splits.at(static_cast<size_t>(split));
      for (size_t row = 0; row < nodes.size(); ++row) sink(split, row, nodes[row]);
    }
  }

  std::string place(ingest::InputPart, uint64_t row) const override {
    return "row " + std::to_string(row);
  }

  size_t pieces_of = 2;

 private:
  const MadeGraph graph_;
  ingest::Shape shape_;
  size_t next_edge_ = 0;
  size_t next_row_ = 0;
};

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

inline MadeGraph small_graph() {
  return {.nodes = 5,
          .columns = 3,
          .sources = {0, 4, 2, 2, 1},
          .destinations = {1, 0, 3, 2, 4},
          .features = {0, 1, 2, 3, 4, 5, -6.5F, 7, 8, 9, 10, 11, 12, 13, 0.1F},
          .labels = {2, -1, 0, 171, -1},
          .splits = {{{3, 0}, {2}, {}}}};
}

// Larger than any block that is held in memory.
inline MadeGraph large_graph() {
  constexpr uint64_t kManyNodes = 300'000;
  constexpr uint64_t kManyEdges = 700'000;
  constexpr RandomStream kRandom(1, 0);
  MadeGraph graph{.nodes = kManyNodes, .columns = 3};
  for (uint64_t i = 0; i < kManyEdges; ++i) {
    graph.sources.push_back(static_cast<uint32_t>(below(kRandom.at(2 * i), kManyNodes)));
    graph.destinations.push_back(static_cast<uint32_t>(below(kRandom.at(2 * i + 1), kManyNodes)));
  }
  for (uint64_t i = 0; i < kManyNodes * graph.columns; ++i) {
    graph.features.push_back(static_cast<float>(unit_interval(kRandom.at(i))) - 0.5F);
  }
  for (uint64_t i = 0; i < kManyNodes; ++i)
    graph.labels.push_back(static_cast<int32_t>(i % 173) - 1);
  for (uint32_t i = 0; i < kManyNodes; i += 10) graph.splits.at(i % 3).push_back(i);
  return graph;
}

template <typename T>
std::vector<T> values_in(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

struct WrittenMember {
  std::string name;
  std::string bytes;
  int compression = -1;
  std::time_t changed = 0;
};

inline std::vector<WrittenMember> unzip(const std::filesystem::path& path) {
  const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(
      zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, nullptr), &zip_discard);
  if (!archive) throw std::runtime_error("not a zip: " + path.string());
  std::vector<WrittenMember> members;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    zip_stat_t stat;
    zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat);
    std::string bytes(stat.size, '\0');
    zip_file_t* file = zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0);
    const zip_int64_t count = zip_fread(file, bytes.data(), bytes.size());
    const int crc_error = zip_fclose(file);
    if (count != static_cast<zip_int64_t>(bytes.size()) || crc_error != 0) {
      throw std::runtime_error(std::string("damaged member: ") + stat.name);
    }
    members.push_back({stat.name, bytes, stat.comp_method, stat.mtime});
  }
  return members;
}

// The values of a member, without the header.
template <typename T>
std::vector<T> array(const std::filesystem::path& npz, const std::string& name) {
  for (const WrittenMember& member : unzip(npz)) {
    if (member.name == name) {
      return values_in<T>(std::string_view(member.bytes).substr(member.bytes.find('\n') + 1));
    }
  }
  throw std::runtime_error(name + " is missing");
}

inline std::string gunzip(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr || gzdirect(file) != 0)
    throw std::runtime_error("not gzip: " + path.string());
  std::string text;
  std::array<char, 4096> chunk;
  int count = 0;
  while ((count = gzread(file, chunk.data(), chunk.size())) > 0) {
    text.append(chunk.data(), static_cast<size_t>(count));
  }
  if (gzclose(file) != Z_OK || count < 0) throw std::runtime_error("damaged: " + path.string());
  return text;
}

class OgbFolder : public testing::Test {
 protected:
  OgbFolder() { options_.out = parent_ / "graph"; }

  void write(ingest::InputGraph& source) { write_ogb_folder(source, options_, ledger_, progress_); }
  void write(MadeGraph graph) {
    FakeSource source(std::move(graph));
    write(source);
  }

  // The kind and the words of what write() throws.
  Error failure(ingest::InputGraph& source) {
    try {
      write(source);
    } catch (const Error& error) {
      return error;
    }
    throw std::runtime_error("it was written");
  }

  std::filesystem::path raw(const std::string& name) const { return options_.out / "raw" / name; }
  std::filesystem::path split(const std::string& name) const {
    return options_.out / "split" / options_.split_name / name;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const std::filesystem::directory_entry& entry :
         std::filesystem::recursive_directory_iterator(parent_)) {
      if (!entry.is_directory())
        names.insert(std::filesystem::relative(entry.path(), parent_).string());
    }
    return names;
  }

  TempFolder folder_;
  std::filesystem::path parent_ = folder_.path();
  OgbFolderOptions options_;
  memory::Ledger ledger_{64 * kMiB};
  Progress progress_{ProgressStyle::silent};
};

class OgbNpz : public OgbFolder {};

class OgbCsv : public OgbFolder {
 protected:
  OgbCsv() { options_.layout = OgbLayout::csv; }
};

}  // namespace plimsoll::formats
