// Everything is read back with libzip and zlib alone: what our own readers make of these files is
// their tests' business.
#include "formats/ogb_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/units.h"
#include "formats/npz_writer.h"
#include "formats/ogb_layout.h"
#include "temp_folder.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

struct Graph {
  uint64_t nodes = 0;
  uint32_t columns = 0;
  std::vector<uint32_t> sources = {};
  std::vector<uint32_t> destinations = {};
  std::vector<float> features = {};
  std::vector<int32_t> labels = {};  // empty = none
  std::array<std::vector<uint32_t>, 3> splits = {};
};

// Hands a Graph out in pieces of a few edges and rows, and may claim another shape than it has.
class FakeSource : public ingest::InputGraph {
 public:
  explicit FakeSource(Graph graph)
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
  const Graph graph_;
  ingest::Shape shape_;
  size_t next_edge_ = 0;
  size_t next_row_ = 0;
};

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

Graph small_graph() {
  return {.nodes = 5,
          .columns = 3,
          .sources = {0, 4, 2, 2, 1},
          .destinations = {1, 0, 3, 2, 4},
          .features = {0, 1, 2, 3, 4, 5, -6.5F, 7, 8, 9, 10, 11, 12, 13, 0.1F},
          .labels = {2, -1, 0, 171, -1},
          .splits = {{{3, 0}, {2}, {}}}};
}

// Larger than any block that is held in memory.
Graph large_graph() {
  constexpr uint64_t kNodes = 300'000;
  constexpr uint64_t kEdges = 700'000;
  constexpr RandomStream kRandom(1, 0);
  Graph graph{.nodes = kNodes, .columns = 3};
  for (uint64_t i = 0; i < kEdges; ++i) {
    graph.sources.push_back(static_cast<uint32_t>(below(kRandom.at(2 * i), kNodes)));
    graph.destinations.push_back(static_cast<uint32_t>(below(kRandom.at(2 * i + 1), kNodes)));
  }
  for (uint64_t i = 0; i < kNodes * graph.columns; ++i) {
    graph.features.push_back(static_cast<float>(unit_interval(kRandom.at(i))) - 0.5F);
  }
  for (uint64_t i = 0; i < kNodes; ++i) graph.labels.push_back(static_cast<int32_t>(i % 173) - 1);
  for (uint32_t i = 0; i < kNodes; i += 10) graph.splits.at(i % 3).push_back(i);
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

struct ZipMember {
  std::string name;
  std::string bytes;
  int compression = -1;
  std::time_t changed = 0;
};

std::vector<ZipMember> unzip(const fs::path& path) {
  const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(
      zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, nullptr), &zip_discard);
  if (!archive) throw std::runtime_error("not a zip: " + path.string());
  std::vector<ZipMember> members;
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
std::vector<T> array(const fs::path& npz, const std::string& name) {
  for (const ZipMember& member : unzip(npz)) {
    if (member.name == name) {
      return values_in<T>(std::string_view(member.bytes).substr(member.bytes.find('\n') + 1));
    }
  }
  throw std::runtime_error(name + " is missing");
}

std::string gunzip(const fs::path& path) {
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
  void write(Graph graph) {
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

  fs::path raw(const std::string& name) const { return options_.out / "raw" / name; }
  fs::path split(const std::string& name) const {
    return options_.out / "split" / options_.split_name / name;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(parent_)) {
      if (!entry.is_directory()) names.insert(fs::relative(entry.path(), parent_).string());
    }
    return names;
  }

  TempFolder folder_;
  fs::path parent_ = folder_.path();
  OgbFolderOptions options_;
  memory::Ledger ledger_{64 * kMiB};
  Progress progress_{ProgressStyle::silent};
};

class OgbNpz : public OgbFolder {};

class OgbCsv : public OgbFolder {
 protected:
  OgbCsv() { options_.layout = OgbLayout::csv; }
};

std::string header_text(const std::string& dict) {
  const std::string prefix("\x93NUMPY\x01\x00\x76\x00", 10);
  return prefix + dict + std::string(128 - 11 - dict.size(), ' ') + "\n";
}

TEST(NpyHeader, IsWhatNumpyWrites) {
  EXPECT_EQ(npy_header(NpyType::int64, std::array<uint64_t, 2>{2, 1615685872}),
            header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1615685872), }"));
  EXPECT_EQ(npy_header(NpyType::float32, std::array<uint64_t, 2>{5, 3}),
            header_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"));
  EXPECT_EQ(npy_header(NpyType::int64, std::array<uint64_t, 1>{1}),
            header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"));
}

TEST_F(OgbNpz, HasTheFilesAndMembersOfPapers100M) {
  write(small_graph());
  EXPECT_EQ(files(),
            (std::set<std::string>{"graph/raw/data.npz", "graph/raw/node-label.npz",
                                   "graph/split/time/train.csv.gz", "graph/split/time/valid.csv.gz",
                                   "graph/split/time/test.csv.gz"}));
  std::vector<std::string> names;
  std::vector<std::string> headers;
  for (const ZipMember& member : unzip(raw("data.npz"))) {
    names.push_back(member.name);
    headers.push_back(member.bytes.substr(0, 128));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"edge_index.npy", "node_feat.npy", "node_year.npy",
                                             "num_nodes_list.npy", "num_edges_list.npy"}));
  EXPECT_EQ(headers,
            (std::vector<std::string>{
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 5), }"),
                header_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"),
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (5, 1), }"),
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"),
                header_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }")}));
  const std::vector<ZipMember> labels = unzip(raw("node-label.npz"));
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].name, "node_label.npy");
  EXPECT_EQ(labels[0].bytes.substr(0, 128),
            header_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 1), }"));
}

TEST_F(OgbNpz, HoldsAllSourcesThenAllDestinations) {
  write(small_graph());
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "edge_index.npy"),
            (std::vector<int64_t>{0, 4, 2, 2, 1, 1, 0, 3, 2, 4}));
}

TEST_F(OgbNpz, HoldsFeaturesAndCounts) {
  write(small_graph());
  EXPECT_EQ(array<float>(raw("data.npz"), "node_feat.npy"), small_graph().features);
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "num_nodes_list.npy"), std::vector<int64_t>{5});
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "num_edges_list.npy"), std::vector<int64_t>{5});
}

TEST_F(OgbNpz, WritesUnlabelledNodesAsNan) {
  write(small_graph());
  const auto bits = array<uint32_t>(raw("node-label.npz"), "node_label.npy");
  const auto nan = std::bit_cast<uint32_t>(kNotANumber);
  EXPECT_EQ(bits, (std::vector<uint32_t>{std::bit_cast<uint32_t>(2.0F), nan, 0,
                                         std::bit_cast<uint32_t>(171.0F), nan}));
}

TEST_F(OgbNpz, DeflatesOrStoresAsAsked) {
  for (const bool deflate : {true, false}) {
    options_.deflate = deflate;
    options_.replace = true;
    write(small_graph());
    for (const char* name : {"data.npz", "node-label.npz"}) {
      for (const ZipMember& member : unzip(raw(name))) {
        EXPECT_EQ(member.compression, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE) << member.name;
      }
    }
  }
}

TEST_F(OgbNpz, DoesNotRecordTheDayOfWriting) {
  write(small_graph());
  for (const ZipMember& member : unzip(raw("data.npz"))) {
    const std::tm date = *std::localtime(&member.changed);
    EXPECT_EQ(date.tm_year, 80) << member.name;
    EXPECT_EQ(date.tm_yday, 0) << member.name;
  }
}

TEST_F(OgbNpz, HoldsGraphsLargerThanItsBlocks) {
  const Graph graph = large_graph();
  FakeSource source(graph);
  source.pieces_of = 77'777;
  write(source);
  std::vector<uint32_t> edges = graph.sources;
  edges.insert(edges.end(), graph.destinations.begin(), graph.destinations.end());
  EXPECT_TRUE(array<int64_t>(raw("data.npz"), "edge_index.npy") == converted<int64_t>(edges));
  EXPECT_TRUE(array<float>(raw("data.npz"), "node_feat.npy") == graph.features);
  const auto labels = array<float>(raw("node-label.npz"), "node_label.npy");
  ASSERT_EQ(labels.size(), graph.nodes);
  for (uint64_t i = 0; i < graph.nodes; ++i) {
    ASSERT_EQ(std::isnan(labels[i]) ? -1 : labels[i], static_cast<float>(graph.labels[i])) << i;
  }
}

TEST_F(OgbNpz, TakesAByteANodeAndAFewMebibytes) {
  FakeSource source(large_graph());
  source.pieces_of = 1'000'000;
  write(source);
  EXPECT_LT(ledger_.peak_bytes(), source.shape().nodes + 16 * kMiB);
  EXPECT_EQ(ledger_.used_bytes(), 0U);
}

TEST_F(OgbNpz, GivesANodeTheYearOfItsSplit) {
  Graph graph = small_graph();
  graph.splits = {{{3, 0}, {2}, {1}}};
  write(graph);
  const auto years = array<int64_t>(raw("data.npz"), "node_year.npy");
  ASSERT_EQ(years.size(), 5U);
  EXPECT_EQ(std::vector(years.begin(), years.begin() + 4),
            (std::vector<int64_t>{2017, 2019, 2018, 2017}));
}

TEST_F(OgbNpz, SpreadsOtherNodesOverThirtyYears) {
  Graph graph = large_graph();
  graph.splits = {};
  write(graph);
  const auto years = array<int64_t>(raw("data.npz"), "node_year.npy");
  ASSERT_EQ(years.size(), graph.nodes);
  std::array<uint64_t, 30> counts = {};
  for (const int64_t year : years) {
    ASSERT_GE(year, 1990);
    ASSERT_LE(year, 2019);
    ++counts.at(static_cast<size_t>(year - 1990));
  }
  for (const uint64_t count : counts) EXPECT_NEAR(static_cast<double>(count), 10'000, 600);
}

TEST_F(OgbNpz, KeepsWaitingValuesInTheTempFolderWithoutAName) {
  options_.temp_dir = parent_ / "temp";
  fs::create_directory(options_.temp_dir);
  std::set<std::string> while_writing;
  FakeSource source(small_graph());
  source.before_rows = [&] { while_writing.merge(files()); };
  write(source);
  ASSERT_FALSE(while_writing.empty());
  for (const std::string& name : while_writing) EXPECT_TRUE(name.starts_with("graph.partial/"));

  options_.temp_dir = parent_ / "missing";
  options_.replace = true;
  FakeSource again(small_graph());
  const Error error = failure(again);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos) << error.what();
}

TEST_F(OgbFolder, ListsTheNodesOfASplitInTheirOrder) {
  options_.split_name = "sales_ranking";
  write(small_graph());
  EXPECT_EQ(gunzip(split("train.csv.gz")), "3\n0\n");
  EXPECT_EQ(gunzip(split("valid.csv.gz")), "2\n");
  EXPECT_EQ(gunzip(split("test.csv.gz")), "");
}

TEST_F(OgbFolder, RefusesASplitNameThatLeavesTheFolder) {
  for (const char* name : {"", ".", "..", "../time", "a/b"}) {
    options_.split_name = name;
    FakeSource source(small_graph());
    EXPECT_EQ(failure(source).kind(), ErrorKind::usage) << name;
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbFolder, LeavesOutWhatTheGraphLacks) {
  const Graph bare{.nodes = 3, .columns = 0, .sources = {0}, .destinations = {2}};
  write(bare);
  EXPECT_EQ(files(), std::set<std::string>{"graph/raw/data.npz"});
  for (const ZipMember& member : unzip(raw("data.npz"))) EXPECT_NE(member.name, "node_feat.npy");

  options_.layout = OgbLayout::csv;
  options_.replace = true;
  write(bare);
  EXPECT_EQ(files(), (std::set<std::string>{"graph/raw/edge.csv.gz", "graph/raw/node_year.csv.gz",
                                            "graph/raw/num-edge-list.csv.gz",
                                            "graph/raw/num-node-list.csv.gz"}));
}

TEST_F(OgbFolder, WritesAGraphWithoutEdges) {
  Graph graph = small_graph();
  graph.sources = {};
  graph.destinations = {};
  write(graph);
  EXPECT_EQ(array<int64_t>(raw("data.npz"), "edge_index.npy"), std::vector<int64_t>{});
  EXPECT_EQ(array<float>(raw("data.npz"), "node_feat.npy"), graph.features);
}

TEST_F(OgbFolder, ReplacesAFolderOnlyWhenAsked) {
  write(small_graph());
  FakeSource source(small_graph());
  EXPECT_EQ(failure(source).kind(), ErrorKind::exists);
  options_.replace = true;
  options_.split_name = "other";
  write(source);
  EXPECT_TRUE(fs::exists(split("train.csv.gz")));
  EXPECT_FALSE(fs::exists(options_.out / "split" / "time"));
}

TEST_F(OgbFolder, PassesOnWhatTheSourceThrowsAndLeavesNothing) {
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    options_.layout = layout;
    FakeSource source(small_graph());
    source.before_rows = [] { fail(ErrorKind::input, "row 7 is broken"); };
    const Error error = failure(source);
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "row 7 is broken");
    EXPECT_TRUE(fs::is_empty(parent_));
  }
}

TEST_F(OgbFolder, PassesOnAnInterruption) {
  FakeSource source(small_graph());
  source.before_rows = [] { throw Interrupted(SIGTERM); };
  EXPECT_THROW(write(source), Interrupted);
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbFolder, RefusesASourceThatDoesNotKeepToItsShape) {
  const auto claims = std::to_array<std::function<void(ingest::Shape&)>>({
      [](ingest::Shape& shape) { shape.edges += 1; },
      [](ingest::Shape& shape) { shape.edges -= 1; },
      [](ingest::Shape& shape) { shape.nodes += 1; },
      [](ingest::Shape& shape) { shape.nodes += 1, shape.has_labels = false; },
  });
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    for (const auto& claim : claims) {
      options_.layout = layout;
      FakeSource source(small_graph());
      claim(source.claimed_shape());
      EXPECT_EQ(failure(source).kind(), ErrorKind::internal);
      EXPECT_TRUE(fs::is_empty(parent_));
    }
  }
}

TEST_F(OgbFolder, RefusesAGraphThatTheDiskCannotHold) {
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    options_.layout = layout;
    FakeSource source(small_graph());
    source.claimed_shape().edges = uint64_t{1} << 50;
    const OgbFolderSpace needed = space_needed(source.shape(), options_);
    const Error error = failure(source);
    EXPECT_EQ(error.kind(), ErrorKind::disk);
    const std::string total = format_bytes(needed.folder_bytes + needed.temporary_bytes);
    EXPECT_NE(std::string(error.what()).find(total), std::string::npos) << error.what();
    EXPECT_TRUE(fs::is_empty(parent_));
  }
}

TEST_F(OgbFolder, NeverTakesMoreThanTheSpaceItAsksFor) {
  Graph graph = large_graph();
  graph.splits = {};
  for (uint32_t i = 0; i < graph.nodes; ++i) graph.splits.at(i % 3).push_back(i);
  for (float& value : graph.features) value = -std::abs(value) * 1e-30F;
  options_.replace = true;
  for (const OgbLayout layout : {OgbLayout::npz, OgbLayout::csv}) {
    for (const bool deflate : {true, false}) {
      options_.layout = layout;
      options_.deflate = deflate;
      FakeSource source(graph);
      source.pieces_of = 100'000;
      write(source);
      uint64_t taken = 0;
      for (const std::string& name : files()) {
        // Text compresses well here; another graph's might not.
        taken +=
            name.ends_with(".gz") ? gunzip(parent_ / name).size() : fs::file_size(parent_ / name);
      }
      EXPECT_LE(taken, space_needed(source.shape(), options_).folder_bytes);
      EXPECT_GT(taken, 0U);
    }
  }
  EXPECT_GE(space_needed({300'000, 700'000, 3, true}, {}).temporary_bytes, 4U * 700'000);
}

TEST_F(OgbFolder, NamesTheFileThatCannotBeWritten) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit tight = {4 * kMiB, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  FakeSource source(large_graph());
  source.pieces_of = 100'000;
  options_.deflate = false;
  const Error error = failure(source);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("raw/data.npz"), std::string::npos) << error.what();
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbFolder, RefusesToWorkBeyondTheMemoryLimit) {
  memory::Ledger tight(2 * kMiB);
  FakeSource source(small_graph());
  try {
    write_ogb_folder(source, options_, tight, progress_);
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
  }
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(OgbCsv, HasTheFilesOfArxiv) {
  write(small_graph());
  EXPECT_EQ(files(), (std::set<std::string>{
                         "graph/raw/edge.csv.gz", "graph/raw/node-feat.csv.gz",
                         "graph/raw/node-label.csv.gz", "graph/raw/node_year.csv.gz",
                         "graph/raw/num-edge-list.csv.gz", "graph/raw/num-node-list.csv.gz",
                         "graph/split/time/train.csv.gz", "graph/split/time/valid.csv.gz",
                         "graph/split/time/test.csv.gz"}));
  EXPECT_EQ(gunzip(raw("edge.csv.gz")), "0,1\n4,0\n2,3\n2,2\n1,4\n");
  EXPECT_EQ(gunzip(raw("node-feat.csv.gz")), "0,1,2\n3,4,5\n-6.5,7,8\n9,10,11\n12,13,0.1\n");
  EXPECT_EQ(gunzip(raw("num-node-list.csv.gz")), "5\n");
  EXPECT_EQ(gunzip(raw("num-edge-list.csv.gz")), "5\n");
}

TEST_F(OgbCsv, WritesUnlabelledNodesAsNan) {
  write(small_graph());
  EXPECT_EQ(gunzip(raw("node-label.csv.gz")), "2\nnan\n0\n171\nnan\n");
}

TEST_F(OgbCsv, WritesTheYearsThatNpzHolds) {
  write(small_graph());
  std::istringstream lines(gunzip(raw("node_year.csv.gz")));
  const std::vector<int64_t> years{std::istream_iterator<int64_t>(lines), {}};
  options_.layout = OgbLayout::npz;
  options_.replace = true;
  write(small_graph());
  EXPECT_EQ(years, array<int64_t>(raw("data.npz"), "node_year.npy"));
}

TEST_F(OgbCsv, WritesFeaturesThatReadBackAsTheSameFloats) {
  Graph graph = large_graph();
  graph.features[0] = std::numeric_limits<float>::denorm_min();
  graph.features[1] = -std::numeric_limits<float>::max();
  graph.features[2] = -std::numeric_limits<float>::min();
  graph.features[3] = -0.0F;
  graph.features[4] = 16777216.0F;
  FakeSource source(graph);
  source.pieces_of = 100'000;
  write(source);
  const std::string text = gunzip(raw("node-feat.csv.gz"));
  const char* cursor = text.c_str();
  for (size_t i = 0; i < graph.features.size(); ++i) {
    char* end = nullptr;
    const float value = std::strtof(cursor, &end);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(graph.features[i])) << i;
    ASSERT_EQ(*end, (i + 1) % graph.columns == 0 ? '\n' : ',') << i;
    cursor = end + 1;
  }
  EXPECT_EQ(*cursor, '\0');
}

TEST(CsvGzWriter, CallsAFullDiskAFullDisk) {
  memory::Ledger ledger(8 * kMiB);
  CsvGzWriter file(ledger, "/dev/full");
  file.add_integer(1);
  try {
    file.finish();
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::disk);
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plimsoll::formats
