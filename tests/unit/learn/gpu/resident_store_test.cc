// The two parts of a store's files, one on the device and one in memory that it reads, are the
// files wherever the lines are, and take what was planned for them.
#include "gpu/resident_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/units.h"
#include "far_sighted.h"
#include "gpu/network.h"
#include "io/file.h"
#include "sample/small_graph.h"
#include "temp_folder.h"

namespace plimsoll::gpu {
namespace {

namespace fs = std::filesystem;

std::string bytes_through_at(const LinedBytes& file, uint64_t bytes, uint64_t value_bytes) {
  std::string all;
  for (uint64_t i = 0; i < bytes; i += value_bytes) {
    all.append(reinterpret_cast<const char*>(at(file, i)), value_bytes);
  }
  return all;
}

class ResidentStoreTest : public testing::Test {
 protected:
  // Rows of 1536 bytes: neither a power of two nor a multiple of a block.
  void write(uint32_t nodes, uint32_t most = 30) {
    lists_ = sample::random_lists(nodes, most, 5);
    sample::write_store(folder_, {.lists = lists_, .feature_columns = 700});
    meta_ = graph::open(folder_).meta();
    ASSERT_EQ(meta_.row_bytes, 1536U);
  }
  uint64_t offsets_bytes() const { return (meta_.nodes + 1) * sizeof(uint64_t); }
  uint64_t neighbors_bytes() const { return meta_.edges * sizeof(uint32_t); }
  uint64_t features_bytes() const { return meta_.nodes * meta_.row_bytes; }

  struct File {
    uint64_t bytes = 0;
    uint64_t line = 0;
  };
  std::vector<File> files(const StoreLines& lines) const {
    const auto file = [](uint64_t bytes, uint64_t line, uint64_t value_bytes) {
      return File{bytes, ResidentStore::line_at(bytes, line, value_bytes)};
    };
    std::vector<File> files = {file(features_bytes(), lines.features_bytes, meta_.row_bytes)};
    if (lines.lists) {
      files.push_back(file(offsets_bytes(), lines.offsets_bytes, sizeof(uint64_t)));
      files.push_back(file(neighbors_bytes(), lines.neighbors_bytes, sizeof(uint32_t)));
    }
    return files;
  }
  uint64_t device_bytes(const StoreLines& lines) const {
    uint64_t sum = 0;
    for (const File& file : files(lines)) sum += ResidentStore::device_bytes(file.bytes, file.line);
    return sum;
  }
  uint64_t host_bytes(const StoreLines& lines) const {
    uint64_t sum = 0;
    for (const File& file : files(lines)) sum += ResidentStore::host_bytes(file.bytes, file.line);
    return sum;
  }

  void expect_its_bytes(const ResidentStore& store, bool lists = true) const {
    const StoreView view = store.view();
    if (lists) {
      EXPECT_TRUE(bytes_through_at(view.lists.offsets, offsets_bytes(), sizeof(uint64_t)) ==
                  read_file(folder_ / "offsets.u64"));
      EXPECT_TRUE(bytes_through_at(view.lists.neighbors, neighbors_bytes(), sizeof(uint32_t)) ==
                  read_file(folder_ / "neighbors.u32"));
    }
    EXPECT_TRUE(bytes_through_at(view.rows.file, features_bytes(), meta_.row_bytes) ==
                read_file(folder_ / "features.f16"));
    EXPECT_EQ(view.rows.row_bytes, meta_.row_bytes);
    EXPECT_EQ(view.rows.columns, meta_.feature_columns);
    EXPECT_EQ(view.rows.half, 1U);
  }
  // With no more memory than was planned for these lines.
  void expect_loads(const StoreLines& lines, unsigned threads) {
    FarSighted device(device_bytes(lines));
    memory::Ledger host(host_bytes(lines) + ResidentStore::kLoadingBytes);
    std::atomic<uint64_t> told_bytes = 0;
    {
      const ResidentStore store(graph::open(folder_), device, host, lines, threads,
                                [&](uint64_t bytes) { told_bytes += bytes; });
      expect_its_bytes(store, lines.lists);
      EXPECT_EQ(device.ledger().used_bytes(), device_bytes(lines));
      EXPECT_EQ(host.used_bytes(), host_bytes(lines));
      size_t parts = 0;
      for (const File& file : files(lines)) parts += file.line < file.bytes ? 1 : 0;
      EXPECT_EQ(device.seen(), parts);
    }
    uint64_t all_bytes = 0;
    for (const File& file : files(lines)) all_bytes += file.bytes;
    EXPECT_EQ(told_bytes, all_bytes);
    EXPECT_EQ(device.ledger().used_bytes(), 0U);
    EXPECT_EQ(host.used_bytes(), 0U);
    EXPECT_EQ(device.seen(), 0U);
  }
  void expect_refusal(const std::vector<std::string>& parts) {
    for (const uint64_t line : {uint64_t{0}, uint64_t{20'000}, UINT64_MAX}) {
      FarSighted device(kGiB);
      memory::Ledger host(kGiB);
      expect_error(ErrorKind::store, parts, [&] {
        const ResidentStore store(graph::open(folder_), device, host, {line, line, line}, 2,
                                  [](uint64_t) {});
      });
      EXPECT_EQ(device.ledger().used_bytes(), 0U);
      EXPECT_EQ(host.used_bytes(), 0U);
      EXPECT_EQ(device.seen(), 0U);
    }
  }

  TempFolder temp_;
  fs::path folder_ = temp_ / "store";
  sample::Lists lists_;
  graph::Meta meta_;
};

TEST_F(ResidentStoreTest, HasTheBytesOfItsFilesWhereverTheLinesAre) {
  write(3000);
  const auto positions = [](uint64_t bytes) {
    return std::vector<uint64_t>{0,           1,         4095,          4096,
                                 8192 + 1536, bytes / 2, bytes / 2 + 1, bytes - 4097,
                                 bytes - 1,   bytes,     UINT64_MAX};
  };
  const auto offsets = positions(offsets_bytes());
  const auto neighbors = positions(neighbors_bytes());
  const auto features = positions(features_bytes());
  for (size_t i = 0; i < offsets.size(); ++i) {
    SCOPED_TRACE(i);
    expect_loads({offsets[i], neighbors[i], features[i]}, i % 2 == 0 ? 1 : 3);
    // Each file has a line of its own.
    expect_loads(
        {offsets[i], neighbors[(i + 4) % neighbors.size()], features[(i + 7) % features.size()]},
        2);
  }
}

TEST_F(ResidentStoreTest, DividesNoRowAndNoBlock) {
  constexpr uint64_t kFile = 1000 * 1536;
  for (uint64_t line = 0; line < kFile + 3; line += 511) {
    const uint64_t at = ResidentStore::line_at(kFile, line, 1536);
    if (line >= kFile) {
      EXPECT_EQ(at, kFile);
      continue;
    }
    EXPECT_LE(at, line);
    EXPECT_EQ(at % 1536, 0U);
    EXPECT_EQ(at % io::kBlockBytes, 0U);
    EXPECT_GT(at + 8 * 1536, line);
  }
  EXPECT_EQ(ResidentStore::line_at(kFile, kFile, 1536), kFile);
  EXPECT_EQ(ResidentStore::line_at(0, 0, 0), 0U);
}

TEST_F(ResidentStoreTest, LoadsNoListsWhereNoneAreNeeded) {
  write(500);
  for (const uint64_t line : {uint64_t{0}, uint64_t{100'000}, UINT64_MAX}) {
    const StoreLines lines = {.features_bytes = line, .lists = false};
    expect_loads(lines, 1);
    FarSighted device(kGiB);
    memory::Ledger host(kGiB);
    const ResidentStore store(graph::open(folder_), device, host, lines, 1, [](uint64_t) {});
    EXPECT_EQ(store.view().lists.offsets.near, nullptr);
    EXPECT_EQ(store.view().lists.neighbors.far, nullptr);
  }
}

TEST_F(ResidentStoreTest, MayHaveNoEdges) {
  sample::write_store(folder_, {.lists = sample::Lists(5), .feature_columns = 700});
  meta_ = graph::open(folder_).meta();
  for (const uint64_t line : {uint64_t{0}, UINT64_MAX}) expect_loads({line, line, line}, 1);
}

// More than one piece goes to the device.
TEST_F(ResidentStoreTest, LoadsALargeFileInPieces) {
  write(45'000, 3);
  ASSERT_GT(features_bytes(), ResidentStore::kLoadingBytes + kMiB);
  for (const uint64_t line : {ResidentStore::kLoadingBytes + kMiB / 2, UINT64_MAX}) {
    expect_loads({UINT64_MAX, UINT64_MAX, line}, 2);
  }
}

TEST_F(ResidentStoreTest, RefusesANeighbourThatIsNoNode) {
  write(3000);
  for (const uint64_t place : {uint64_t{0}, uint64_t{6000}, meta_.edges - 1}) {
    const uint32_t before = sample::flatten(lists_).neighbors.at(place);
    sample::overwrite<uint32_t>(folder_ / "neighbors.u32", place, 3000);
    expect_refusal({(folder_ / "neighbors.u32").string(), "neighbour 3000 of a graph of 3000"});
    sample::overwrite<uint32_t>(folder_ / "neighbors.u32", place, before);
  }
  expect_loads({0, 0, 0}, 1);
}

TEST_F(ResidentStoreTest, RefusesListsThatEndBeforeTheyBeginOrElsewhere) {
  write(3000);
  const sample::FlatLists flat = sample::flatten(lists_);
  // 2047 and 2048 are on two sides of the line at 16,384 bytes.
  for (const uint64_t node : {uint64_t{1}, uint64_t{2047}, uint64_t{2048}, uint64_t{2999}}) {
    for (const uint64_t wrong : {flat.offsets.at(node - 1) - 1, UINT64_MAX}) {
      sample::overwrite<uint64_t>(folder_ / "offsets.u64", node, wrong);
      expect_refusal({(folder_ / "offsets.u64").string()});
    }
    sample::overwrite<uint64_t>(folder_ / "offsets.u64", node, flat.offsets.at(node));
  }
  sample::overwrite<uint64_t>(folder_ / "offsets.u64", 0, uint64_t{1});
  expect_refusal({(folder_ / "offsets.u64").string(), "the lists go from 1"});
  sample::overwrite<uint64_t>(folder_ / "offsets.u64", 0, uint64_t{0});
  sample::overwrite<uint64_t>(folder_ / "offsets.u64", 3000, meta_.edges + 1);
  expect_refusal({(folder_ / "offsets.u64").string()});
}

// A signal stops it through an exception.
TEST_F(ResidentStoreTest, LeavesNothingBehindWhereLoadingStops) {
  write(3000);
  for (int stop = 0;; ++stop) {
    FarSighted device(kGiB);
    memory::Ledger host(kGiB);
    int calls = 0;
    std::optional<ResidentStore> store;
    try {
      store.emplace(graph::open(folder_), device, host, StoreLines{8192, 8192, 1'000'000}, 1,
                    [&](uint64_t) {
                      if (calls++ == stop) throw std::runtime_error("stopped");
                    });
    } catch (const std::runtime_error&) {
      EXPECT_EQ(device.seen(), 0U) << stop;
      EXPECT_EQ(device.ledger().used_bytes(), 0U);
      EXPECT_EQ(host.used_bytes(), 0U);
      continue;
    }
    EXPECT_GE(stop, 6) << "three files in two parts";
    EXPECT_EQ(device.seen(), 3U);
    break;
  }
}

TEST_F(ResidentStoreTest, IsRefusedByALedgerThatIsOneByteTooSmall) {
  write(3000);
  const StoreLines lines = {8192, 8192, 1'000'000};
  FarSighted device(device_bytes(lines) - 1);
  memory::Ledger host(kGiB);
  expect_error(ErrorKind::memory, {"features", "972.0 KiB"}, [&] {
    const ResidentStore store(graph::open(folder_), device, host, lines, 1, [](uint64_t) {});
  });
  EXPECT_EQ(device.seen(), 0U);
}

}  // namespace
}  // namespace plimsoll::gpu
