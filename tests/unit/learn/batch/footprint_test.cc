// What is planned for a batch and for who makes it is what they then hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "batch/gather.h"
#include "batch/window.h"
#include "lined_data.h"
#include "small_batch.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kAreaBytes = 256 * kKiB;

uint64_t held(const memory::Ledger& ledger, std::initializer_list<std::string_view> tags) {
  uint64_t bytes = 0;
  for (const auto& usage : ledger.usage()) {
    for (const std::string_view tag : tags) bytes += usage.tag == tag ? usage.bytes : 0;
  }
  return bytes;
}

sample::BatchSize size_of(const sample::Neighborhood& drawn) {
  sample::BatchSize size{.seeds = drawn.seeds, .nodes = drawn.node_count()};
  for (const sample::Hop& hop : drawn.hops) size.hops.push_back({hop.destinations, hop.edges()});
  return size;
}

// Enough, and not more than it might be with arrays that grow by half and tables by doubling.
void expect_near(uint64_t planned, uint64_t held_bytes, const char* what) {
  EXPECT_GE(planned + 64 * kKiB, held_bytes) << what;
  EXPECT_LE(planned, 2 * held_bytes + 512 * kKiB) << what;
}

struct Case {
  Assembly assembly;
  std::vector<uint32_t> fanout;
  recipe::Draw draw = recipe::Draw::uniform;
};

class Footprint : public testing::TestWithParam<bool> {
 protected:
  void expect(const Case& wanted, uint32_t seeds) {
    memory::Ledger ledger(kGiB);
    const bool reads_disk = GetParam();
    const feature::RowSource source =
        data_.source({.line_bytes = reads_disk ? 0 : UINT64_MAX, .area_bytes = kAreaBytes}, ledger);
    const sample::SamplerOptions options = {.fanout = wanted.fanout,
                                            .all_degrees = wanted.assembly.needs_all_degrees(),
                                            .draw = wanted.draw};
    sample::Sampler sampler(data_.topology, options, ledger);
    Gatherer gatherer(
        source, [&]() -> io::ReadQueue& { return sampler.queue(); }, ledger);
    Assembler assembler(ledger, wanted.fanout.size(), {});
    std::vector<uint32_t> nodes(seeds);
    std::iota(nodes.begin(), nodes.end(), 100);
    sampler.sample(nodes, 3, assembler.neighborhood());
    assembler.labels().renew(seeds);
    assembler.prepare(wanted.assembly, data_.rows().columns);
    gatherer.gather(assembler);

    const sample::BatchSize size = size_of(assembler.neighborhood());
    expect_near(Assembler::bytes_needed(size, wanted.assembly, data_.rows().columns, reads_disk),
                held(ledger, {"batches"}), "the batch");
    // The lists are in memory. LABOR looks at 8 neighbours where 3 are taken.
    expect_near(sample::Sampler::bytes_needed(options, size, size.most_edges() * 3, false),
                held(ledger, {"sampling"}), "the sampler");
    if (!reads_disk) return;
    expect_near(Gatherer::bytes_needed(size.nodes, data_.rows().row_bytes, kAreaBytes),
                held(ledger, {"reading", "rows read"}), "the reader");
  }

  LinedData data_{lists_with_a_hub(40'000, 4'000), 64, true};
};

INSTANTIATE_TEST_SUITE_P(Rows, Footprint, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "OnDisk" : "Resident");
});

TEST_P(Footprint, IsWhatWasPlanned) {
  for (const Assembly& assembly : {kGcn, kGcnSampled, kSage, kGat}) {
    for (const auto& fanout :
         std::vector<std::vector<uint32_t>>{{5}, {5, 3}, {10, 10, 10}, {kAll, kAll}}) {
      expect({assembly, fanout}, 2'000);
    }
  }
  expect({kSage, {5, 3}, recipe::Draw::labor}, 2'000);
}

// With lists and rows on disk, a window and what makes it; the parts are those of the plan.
TEST(WindowFootprint, IsWhatWasPlanned) {
  constexpr uint64_t kBatches = 8;
  constexpr uint32_t kSeedsOfOne = 2'000;
  constexpr uint64_t kWindowBytes = 8 * kMiB;
  const LinedData data(lists_with_a_hub(40'000, 4'000), 64, true);
  const TempFolder folder;
  sample::write_store(folder / "store", {.lists = data.lists});
  const std::vector<Case> cases = {
      {kGcn, {5, 3}}, {kSage, {10, 10, 10}}, {kSage, {5, 3}, recipe::Draw::labor}, {kGat, {kAll}}};
  // A thread that comes too late to draw a batch holds nothing, so only one thread holds a known
  // part of the plan.
  const auto expect_planned = [&](const Case& wanted, unsigned threads) {
    memory::Ledger ledger(kGiB);
    const sample::Topology topology =
        sample::load_topology(graph::open(folder / "store"), ledger, {0, 0}, 1, [](uint64_t) {});
    const feature::RowSource rows =
        data.source({.line_bytes = 0, .windows = 1, .window_bytes = kWindowBytes}, ledger);
    const uint64_t before = ledger.used_bytes();
    const WindowMaker::Options options = {
        .sampling = {.fanout = wanted.fanout,
                     .all_degrees = wanted.assembly.needs_all_degrees(),
                     .draw = wanted.draw},
        .window = {.batches = kBatches, .bytes = kWindowBytes, .threads = threads}};
    Window window(rows, ledger);
    WindowMaker maker(topology, rows, options, ledger);
    maker.make(window, 0, kBatches, [&](uint64_t index, sample::Neighborhood& out) {
      out.seeds = kSeedsOfOne;
      out.nodes.renew(kSeedsOfOne);
      std::iota(out.nodes.data(), out.nodes.data() + kSeedsOfOne,
                100 + static_cast<uint32_t>(index) * kSeedsOfOne);
      return index;
    });
    ASSERT_EQ(window.count, kBatches);
    sample::BatchSize size;
    for (const sample::Neighborhood& batch : window.neighborhoods) {
      size = std::max(size, size_of(batch),
                      [](const auto& a, const auto& b) { return a.most_edges() < b.most_edges(); });
    }
    const uint64_t planned =
        Window::bytes_needed(topology.nodes()) + kWindowBytes +
        kBatches * (sample::Neighborhood::bytes_needed(size, options.sampling.all_degrees) +
                    sample::Draft::bytes_needed(options.sampling, size)) +
        sample::JointSampler::bytes_needed(WindowMaker::sampler_options(options), size,
                                           topology.nodes(), topology.edges());
    const uint64_t held_bytes = ledger.used_bytes() - before;
    if (threads == 1) {
      expect_near(planned, held_bytes, "a window");
    } else {
      EXPECT_GE(planned + 64 * kKiB, held_bytes) << threads << " threads";
    }
  };
  for (const Case& wanted : cases) {
    for (const unsigned threads : {1U, 2U, 4U}) expect_planned(wanted, threads);
  }
}

}  // namespace
}  // namespace plimsoll::batch
