// Wherever the rows are and however little room there is to read them into, a batch's input has the
// same bits.
#include "batch/gather.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lined_data.h"
#include "small_batch.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kStep = io::kLineStepBytes;
constexpr uint32_t kHubDegree = 400;

struct Style {
  const char* name;
  Assembly assembly;
  std::vector<uint32_t> fanout;
};
const std::vector<Style>& styles() {
  static const std::vector<Style> all = {
      {"gcn", kGcn, {3, kAll}},
      {"gcn by the sample", kGcnSampled, {3, kAll}},
      {"gcn with own rows", {Input::aggregated_and_own, Weighting::gcn_full, false}, {kAll}},
      {"sage", kSage, {3, kAll}},
      {"gcn's sums", {Input::aggregated, Weighting::gcn_full, false, true}, {3, 0}},
      {"sage's sums", {Input::aggregated_and_own, Weighting::mean, false, true}, {3, 0}},
      {"gat", kGat, {3, kAll}},
      {"mlp", {Input::rows, Weighting::none, false}, {}},
  };
  return all;
}

// A worker's part of the pipeline, for several batches.
class Gathering {
 public:
  Gathering(LinedData& data, const Style& style, const std::vector<std::vector<uint32_t>>& seeds)
      : data_(data), style_(style), seeds_(seeds) {
    sample::Sampler sampler(data.topology, sampler_options(style.fanout, style.assembly),
                            data.ledger);
    for (size_t i = 0; i < seeds.size(); ++i) {
      auto assembler = std::make_unique<Assembler>(data.ledger, style.fanout.size(), BatchPages());
      sampler.sample(seeds[i], i, assembler->neighborhood());
      assembler->prepare(style.assembly, data.rows().columns);
      assembler->fill(data.rows(), assembler->batch().nodes.data());
      expected_.push_back(inputs_of(assembler->batch()));
      assemblers_.push_back(std::move(assembler));
    }
  }

  // Forgets the values first, so that what is compared has been filled since.
  void gather(Gatherer& gatherer, const Window* window = nullptr) {
    for (const auto& assembler : assemblers_) {
      for (const Matrix& matrix : {assembler->batch().input, assembler->batch().own}) {
        std::fill_n(const_cast<float*>(matrix.data), matrix.rows * matrix.columns, -77.0F);
      }
      gatherer.gather(*assembler, window);
    }
  }
  // A window of these batches, or of the first ones if the others do not fit.
  std::unique_ptr<Window> window(const feature::RowSource& source, uint64_t bytes) const {
    auto made = std::make_unique<Window>(source, data_.ledger);
    WindowMaker maker(
        data_.topology, source,
        {.sampling = sampler_options(style_.fanout, style_.assembly), .window = {.bytes = bytes}},
        data_.ledger);
    maker.make(*made, 0, seeds_.size(), [&](uint64_t index, sample::Neighborhood& out) {
      out.seeds = static_cast<uint32_t>(seeds_[index].size());
      out.nodes.renew(out.seeds);
      std::ranges::copy(seeds_[index], out.nodes.data());
      return index;
    });
    return made;
  }
  bool as_expected() const {
    for (size_t i = 0; i < assemblers_.size(); ++i) {
      if (inputs_of(assemblers_[i]->batch()) != expected_[i]) return false;
    }
    return true;
  }
  uint64_t nodes() const {
    uint64_t count = 0;
    for (const auto& assembler : assemblers_) count += assembler->batch().nodes.size();
    return count;
  }

 private:
  using Inputs = std::pair<std::vector<uint32_t>, std::vector<uint32_t>>;
  static Inputs inputs_of(const Batch& batch) { return {bits_of(batch.input), bits_of(batch.own)}; }

  LinedData& data_;
  const Style style_;
  const std::vector<std::vector<uint32_t>> seeds_;
  std::vector<std::unique_ptr<Assembler>> assemblers_;
  std::vector<Inputs> expected_;
};

// One batch with the hub and few others, or five that share some of their rows.
std::vector<std::vector<uint32_t>> one_batch() { return {{4, 0, 9, 3}}; }
std::vector<std::vector<uint32_t>> five_batches(uint32_t nodes) {
  std::vector<std::vector<uint32_t>> seeds = {{0, 5, 7}};
  for (uint32_t i = 1; i < 5; ++i) seeds.push_back(every(nodes / 20, i, nodes));
  return seeds;
}

class GathererOf : public testing::TestWithParam<std::tuple<uint32_t, bool>> {
 protected:
  static uint32_t nodes() {
    const auto [columns, half] = GetParam();
    return columns * (half ? 2 : 4) > 512 ? 5000 : 20'000;
  }
  std::unique_ptr<Gatherer> make(const feature::RowSource& source) {
    return std::make_unique<Gatherer>(
        source, [this]() -> io::ReadQueue& { return *queue_; }, data_.ledger);
  }

  LinedData data_{lists_with_a_hub(nodes(), kHubDegree), std::get<0>(GetParam()),
                  std::get<1>(GetParam())};
  std::unique_ptr<io::ReadQueue> queue_ = io::ReadQueue::open(data_.ledger);
};

INSTANTIATE_TEST_SUITE_P(Rows, GathererOf,
                         testing::Combine(testing::Values(1, 3, 8, 100, 128, 129, 300),
                                          testing::Bool()),
                         [](const auto& param) {
                           return std::string(std::get<1>(param.param) ? "Half" : "Single") +
                                  std::to_string(std::get<0>(param.param));
                         });

TEST_P(GathererOf, GivesTheInputsOfResidentRowsInAnyRoom) {
  for (const Style& style : styles()) {
    for (const auto& seeds : {one_batch(), five_batches(nodes())}) {
      Gathering gathering(data_, style, seeds);
      for (const uint64_t line_bytes : {uint64_t{0}, kStep, 2 * kStep, UINT64_MAX}) {
        for (const uint64_t area_bytes : {32 * kKiB, 400 * kKiB, 8 * kMiB}) {
          SCOPED_TRACE(std::string(style.name) + ", " + std::to_string(seeds.size()) +
                       " batches, line " + std::to_string(line_bytes) + ", area " +
                       std::to_string(area_bytes));
          const feature::RowSource source =
              data_.source({.line_bytes = line_bytes, .area_bytes = area_bytes});
          const auto gatherer = make(source);
          for (int round = 0; round < 2; ++round) {
            gathering.gather(*gatherer);
            ASSERT_TRUE(gathering.as_expected());
          }
          EXPECT_EQ(gatherer->counts().rows, 2 * gathering.nodes());
          if (source.file().resident()) {
            EXPECT_EQ(gatherer->counts().from_disk, 0U);
          } else if (source.file().line_bytes() == 0) {
            EXPECT_GE(gatherer->counts().from_disk, 2 * gathering.nodes());
          }
        }
      }
    }
  }
}

// Some rows are resident, some are in the window, and the rest is read in rounds.
TEST_P(GathererOf, GivesTheInputsOfResidentRowsWithAnyWindow) {
  for (const Style& style : styles()) {
    Gathering gathering(data_, style, five_batches(nodes()));
    for (const uint64_t line_bytes : {uint64_t{0}, kStep}) {
      for (const uint64_t window_bytes : {uint64_t{0}, 3 * kKiB, 100 * kKiB, 8 * kMiB}) {
        SCOPED_TRACE(std::string(style.name) + ", line " + std::to_string(line_bytes) +
                     ", window " + std::to_string(window_bytes));
        const feature::RowSource source = data_.source({.line_bytes = line_bytes,
                                                        .area_bytes = 100 * kKiB,
                                                        .windows = 1,
                                                        .window_bytes = window_bytes});
        const auto gatherer = make(source);
        const auto window = gathering.window(source, window_bytes);
        for (int round = 0; round < 2; ++round) {
          gathering.gather(*gatherer, window.get());
          ASSERT_TRUE(gathering.as_expected());
        }
        EXPECT_EQ(gatherer->counts().rows, 2 * gathering.nodes());
        if (source.file().line_bytes() == 0) {
          EXPECT_GE(gatherer->counts().from_disk, 2 * gathering.nodes());
        }
        // Rows that were resident when the window was made.
        source.file().lower_by(1);
        gathering.gather(*gatherer, window.get());
        ASSERT_TRUE(gathering.as_expected());
      }
    }
  }
}

// With room for hardly a row at a time, a sum goes through hundreds of rounds.
TEST_P(GathererOf, GivesTheInputsOfResidentRowsWithTheLeastRoom) {
  for (const Style& style : styles()) {
    SCOPED_TRACE(style.name);
    Gathering gathering(data_, style, one_batch());
    const feature::RowSource source = data_.source({.line_bytes = 0, .area_bytes = 1});
    const auto gatherer = make(source);
    gathering.gather(*gatherer);
    ASSERT_TRUE(gathering.as_expected());
  }
}

TEST_P(GathererOf, GivesTheSameWhileTheLineGoesDown) {
  Gathering gathering(data_, styles()[0], five_batches(nodes()));
  const feature::RowSource source =
      data_.source({.line_bytes = UINT64_MAX, .area_bytes = 400 * kKiB});
  const auto gatherer = make(source);
  while (source.file().line_bytes() > 0) {
    gathering.gather(*gatherer);
    ASSERT_TRUE(gathering.as_expected());
    source.file().lower_by(1);
  }
  EXPECT_GT(gatherer->counts().rows, 0U);
}

// Nobody who needs memory waits for the disk.
TEST_P(GathererOf, GivesTheSameWhereTheLineGoesDownWhileTheDiskReads) {
  for (const Style& style : styles()) {
    for (const uint64_t area_bytes : {32 * kKiB, 400 * kKiB, 8 * kMiB}) {
      SCOPED_TRACE(std::string(style.name) + ", area " + std::to_string(area_bytes));
      Gathering gathering(data_, style, five_batches(nodes()));
      const feature::RowSource source =
          data_.source({.line_bytes = data_.file_bytes() - 1, .area_bytes = area_bytes});
      Gatherer gatherer(
          source,
          [&]() -> io::ReadQueue& {
            source.file().lower_by(1);
            return *queue_;
          },
          data_.ledger);
      const uint64_t before = source.file().line_bytes();
      gathering.gather(gatherer);
      ASSERT_TRUE(gathering.as_expected());
      EXPECT_TRUE(before == 0 || source.file().line_bytes() < before);
    }
  }
}

class GathererTest : public testing::Test {
 protected:
  LinedData data_{lists_with_a_hub(20'000, kHubDegree), 128, true};
  std::unique_ptr<io::ReadQueue> queue_ = io::ReadQueue::open(data_.ledger);
};

TEST_F(GathererTest, ReadsNothingThatItsWindowHas) {
  Gathering gathering(data_, styles()[0], five_batches(20'000));
  const feature::RowSource source = data_.source({.windows = 1, .window_bytes = 8 * kMiB});
  const auto window = gathering.window(source, 8 * kMiB);
  ASSERT_EQ(window->count, 5U);
  Gatherer gatherer(
      source, []() -> io::ReadQueue& { fail(ErrorKind::internal, "there is nothing to read"); },
      data_.ledger);
  gathering.gather(gatherer, window.get());
  EXPECT_TRUE(gathering.as_expected());
  EXPECT_EQ(gatherer.counts().from_disk, gathering.nodes());
  for (const auto& usage : data_.ledger.usage()) EXPECT_NE(usage.tag, "rows read");
}

TEST_F(GathererTest, AsksForNoQueueAndNoAreaWhereAllIsResident) {
  const feature::RowSource source = data_.source({.line_bytes = UINT64_MAX});
  Gathering gathering(data_, styles()[0], one_batch());
  const uint64_t used_bytes = data_.ledger.used_bytes();
  Gatherer gatherer(
      source, []() -> io::ReadQueue& { fail(ErrorKind::internal, "there is nothing to read"); },
      data_.ledger);
  gathering.gather(gatherer);
  EXPECT_TRUE(gathering.as_expected());
  EXPECT_EQ(data_.ledger.used_bytes(), used_bytes);
}

// Rows of a set, resident and without a file: what a layer made of some nodes.
TEST_F(GathererTest, TakesTheResidentRowsOfASetByRank) {
  memory::IndexSet set(data_.ledger, 4 * data_.rows().count);
  for (uint64_t i = 0; i < data_.rows().count; ++i) set.add(4 * i + i % 3);
  set.count();
  const feature::RowSource source(data_.rows(), &set);
  Assembler assembler(data_.ledger, 0, {});
  std::vector<uint32_t> seeds;
  for (const uint64_t row : {5U, 0U, 19'999U, 777U}) {
    seeds.push_back(static_cast<uint32_t>(set.at(row)));
  }
  sample::Sampler(data_.topology, {}, data_.ledger).sample(seeds, 1, assembler.neighborhood());
  assembler.prepare({}, data_.rows().columns);
  Gatherer gatherer(
      source, []() -> io::ReadQueue& { fail(ErrorKind::internal, "there is nothing to read"); },
      data_.ledger);
  gatherer.gather(assembler);
  std::vector<float> expected(4 * data_.rows().columns);
  const std::vector<uint32_t> rows = {5, 0, 19'999, 777};
  kernel::best().gather(
      {.rows = data_.rows(), .nodes = rows.data(), .out = expected.data(), .last = 4});
  EXPECT_EQ(bits_of(assembler.batch().input), bits_of(std::span<const float>(expected)));
}

// Refused at each of the places where it could be, it gathers as if nothing had been.
TEST_F(GathererTest, GathersAgainAfterARefusedLease) {
  const feature::RowSource source = data_.source({.area_bytes = 300 * kKiB});
  int refused = 0;
  for (uint64_t left_bytes = 0; left_bytes < 500 * kKiB; left_bytes += 12 * kKiB) {
    Gathering gathering(data_, styles()[0], {{0, 5, 7}, every(700, 3, 20'000)});
    Gathering small(data_, styles()[0], {{5}});
    std::unique_ptr<io::ReadQueue> queue;
    Gatherer gatherer(
        source,
        [&]() -> io::ReadQueue& {
          if (!queue) queue = io::ReadQueue::open(data_.ledger, io::ReadMethod::threads, 2);
          return *queue;
        },
        data_.ledger);
    {
      const auto rest = data_.ledger.lease("others", data_.ledger.available_bytes() - left_bytes);
      try {
        gathering.gather(gatherer);
      } catch (const Error& error) {
        EXPECT_EQ(name(error.kind()), name(ErrorKind::memory)) << error.what();
        ++refused;
      }
    }
    small.gather(gatherer);
    ASSERT_TRUE(small.as_expected()) << left_bytes;
    gathering.gather(gatherer);
    ASSERT_TRUE(gathering.as_expected()) << left_bytes;
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace plimsoll::batch
