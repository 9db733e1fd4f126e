#include "gate/gate.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::gate {
namespace {

using meter::GpuHolder;
using meter::GpuReading;

constexpr uid_t kMe = 1000;
constexpr pid_t kLeftover = 66;

GpuReading gpu(unsigned index, uint64_t used_bytes, std::vector<GpuHolder> holders = {}) {
  return {.index = index,
          .uuid = "GPU-" + std::string(1, static_cast<char>('a' + index)),
          .name = "Fake",
          .total_bytes = 10 * kGiB,
          .used_bytes = used_bytes,
          .free_bytes = 10 * kGiB - used_bytes,
          .holders = std::move(holders)};
}

GpuHolder holder(pid_t pid, uid_t user, uint64_t bytes) {
  return {.pid = pid,
          .start_ticks = 5,
          .user_id = user,
          .user = user == kMe ? "me" : "bob",
          .command = "python x.py",
          .bytes = bytes};
}

Whose classify(const GpuHolder& who) {
  return who.pid == kLeftover ? Whose::leftover : classify_by_user(who, kMe);
}

// GPUs and a clock that a test moves: sleeping is what makes time pass.
class Gate : public testing::Test, public meter::Gpus {
 protected:
  std::vector<GpuReading> read() override { return now_; }
  std::vector<GpuReading> read_counters() override { return now_; }
  std::string driver_version() const override { return "1"; }

  Surroundings around() {
    return {.gpus = *this,
            .classify = classify,
            .end_leftover = [this](const GpuHolder& who) { ended_.push_back(who.pid); },
            .now_seconds = [this] { return time_; },
            .sleep =
                [this](double seconds) {
                  time_ += seconds;
                  if (each_tick_) each_tick_();
                },
            .say = [this](const std::string& line) { said_.push_back(line); }};
  }
  Admission wait_for(uint64_t bytes, double seconds) {
    return wait_for_room({.gpus = selection_of("0"), .free_bytes = bytes, .wait_seconds = seconds},
                         {"GPU-a"}, around());
  }

  std::vector<GpuReading> now_ = {gpu(0, 0)};
  double time_ = 100;
  std::function<void()> each_tick_;
  std::vector<pid_t> ended_;
  std::vector<std::string> said_;
};

TEST_F(Gate, OpensAtOnceWhereThereIsRoom) {
  const Admission entry = wait_for(8 * kGiB, 600);
  EXPECT_TRUE(entry.open);
  EXPECT_EQ(entry.waited_seconds, 0);
  EXPECT_TRUE(said_.empty());
}

TEST_F(Gate, EndsALeftoverOfOursAndWaitsForItsMemory) {
  now_ = {gpu(0, 6 * kGiB, {holder(kLeftover, kMe, 6 * kGiB)})};
  each_tick_ = [&] {
    if (time_ > 101) now_ = {gpu(0, 0)};
  };
  const Admission entry = wait_for(8 * kGiB, 0);  // no wait asked for: a leftover gets its time
  EXPECT_TRUE(entry.open) << entry.reason;
  EXPECT_EQ(entry.leftovers_ended, 1U);
  EXPECT_EQ(ended_, std::vector<pid_t>{kLeftover});
}

TEST_F(Gate, EndsALeftoverThoughThereIsRoom) {
  now_ = {gpu(0, kGiB, {holder(kLeftover, kMe, kGiB)})};
  EXPECT_TRUE(wait_for(kGiB, 0).open);
  EXPECT_EQ(ended_, std::vector<pid_t>{kLeftover});
}

TEST_F(Gate, EndsAgainALeftoverThatStays) {
  now_ = {gpu(0, 6 * kGiB, {holder(kLeftover, kMe, 6 * kGiB)})};
  EXPECT_FALSE(wait_for(8 * kGiB, 12).open);  // and gives up in the end
  EXPECT_GE(ended_.size(), 2U);
  EXPECT_LE(ended_.size(), 4U);
}

TEST_F(Gate, NeverTouchesALeftoverWhoseIdentityIsUnknown) {
  now_ = {gpu(0, 6 * kGiB, {holder(kLeftover, kMe, 6 * kGiB)})};
  now_[0].holders[0].start_ticks = 0;
  EXPECT_FALSE(wait_for(8 * kGiB, 1).open);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(Gate, WaitsForAnotherJobOfMineAndNamesIt) {
  now_ = {gpu(0, 6 * kGiB, {holder(7, kMe, 6 * kGiB)})};
  each_tick_ = [&] {
    if (time_ > 150) now_ = {gpu(0, 0)};
  };
  const Admission entry = wait_for(8 * kGiB, 600);
  EXPECT_TRUE(entry.open);
  EXPECT_GT(entry.waited_seconds, 50);
  EXPECT_TRUE(ended_.empty());
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0],
            "waiting for the GPU: GPU 0 has 4.0 GiB of 10.0 GiB free, 8.0 GiB needed: python x.py "
            "(pid 7, me, 6.0 GiB), another job of yours");
}

TEST_F(Gate, GivesUpOnSomebodyElseWithoutTouchingThem) {
  now_ = {gpu(0, 6 * kGiB, {holder(7, 1001, 6 * kGiB)})};
  const Admission entry = wait_for(8 * kGiB, 10);
  EXPECT_FALSE(entry.open);
  EXPECT_NEAR(entry.waited_seconds, 10, 0.5);
  EXPECT_NE(entry.reason.find("(pid 7, bob, 6.0 GiB), somebody else's"), std::string::npos);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(Gate, WaitsForMemoryThatNobodyIsListedFor) {
  now_ = {gpu(0, 6 * kGiB)};
  const Admission entry = wait_for(8 * kGiB, 1);
  EXPECT_FALSE(entry.open);
  EXPECT_NE(entry.reason.find("6.0 GiB held by processes that the driver does not list"),
            std::string::npos);
}

TEST_F(Gate, LooksOnlyAtTheChosenGpus) {
  now_ = {gpu(0, 0), gpu(1, 9 * kGiB, {holder(kLeftover, kMe, 9 * kGiB)})};
  EXPECT_TRUE(wait_for(8 * kGiB, 0).open);
  EXPECT_TRUE(ended_.empty());
}

TEST_F(Gate, KeepsTheOrderInWhichGpusWereAskedFor) {
  now_ = {gpu(0, 0), gpu(1, 0)};
  const Admission entry =
      wait_for_room({.gpus = selection_of("1,0")}, {"GPU-b", "GPU-a"}, around());
  EXPECT_EQ(visible_devices(entry.gpus), "GPU-b,GPU-a");
}

TEST_F(Gate, SaysWhichGpuHasGone) {
  expect_error(ErrorKind::io, {"GPU-z has disappeared"},
               [&] { wait_for_room({.gpus = selection_of("5")}, {"GPU-z"}, around()); });
}

TEST_F(Gate, SeesTheMemoryComeBack) {
  const std::vector<GpuReading> before = {gpu(0, kGiB)};
  now_ = {gpu(0, 5 * kGiB)};
  each_tick_ = [&] {
    if (time_ > 103) now_ = before;
  };
  const Release release = wait_until_released(before, 10, around());
  EXPECT_TRUE(release.back) << release.reason;
  EXPECT_GT(release.waited_seconds, 2);
}

TEST_F(Gate, SaysHowMuchDidNotComeBack) {
  now_ = {gpu(0, 5 * kGiB)};
  const Release release = wait_until_released({gpu(0, kGiB)}, 10, around());
  EXPECT_FALSE(release.back);
  EXPECT_EQ(release.reason,
            "GPU 0 holds 4.0 GiB more than before the start: 5.0 GiB by unlisted processes");
}

TEST_F(Gate, DoesNotBlameUsForANewcomer) {
  now_ = {gpu(0, 5 * kGiB, {holder(7, 1001, 4 * kGiB)})};
  EXPECT_TRUE(wait_until_released({gpu(0, kGiB)}, 10, around()).back);
}

TEST(ChooseGpus, TakesNumbersAndUuidsInTheirOrder) {
  const std::vector<GpuReading> all = {gpu(0, 0), gpu(1, 0), gpu(2, 0)};
  EXPECT_EQ(visible_devices(choose_gpus(selection_of("1,0"), all)), "GPU-b,GPU-a");
  EXPECT_EQ(visible_devices(choose_gpus(selection_of("GPU-c"), all)), "GPU-c");
  EXPECT_EQ(visible_devices(choose_gpus(selection_of("all"), all)), "GPU-a,GPU-b,GPU-c");
  EXPECT_EQ(visible_devices(choose_gpus(selection_of("none"), all)), "");
}

TEST(ChooseGpus, StaysWithinWhatABatchSystemAllows) {
  const std::vector<GpuReading> all = {gpu(0, 0), gpu(1, 0), gpu(2, 0)};
  EXPECT_EQ(visible_devices(choose_gpus(selection_of("all"), all, "2,1")), "GPU-c,GPU-b");
  expect_error(ErrorKind::usage, {"GPU 0 is not allowed", "'2,1'"},
               [&] { choose_gpus(selection_of("0"), all, "2,1"); });
  expect_error(ErrorKind::usage, {"there is no GPU to use"},
               [&] { choose_gpus(selection_of("all"), all, ""); });
}

TEST(ChooseGpus, RefusesWhatIsNotThere) {
  const std::vector<GpuReading> all = {gpu(0, 0)};
  for (const char* text : {"1", "0,x", "-1", "GPU-z", "00"}) {
    expect_error(ErrorKind::usage, {"there are: 0 (Fake)"},
                 [&] { choose_gpus(selection_of(text), all); });
  }
  expect_error(ErrorKind::usage, {"named twice"}, [&] { choose_gpus(selection_of("0,0"), all); });
}

TEST(RequireGpus, SaysWhatToDoWithoutADriver) {
  expect_error(ErrorKind::io, {"--gpu needs an NVIDIA GPU", "no driver", "leave --gpu out"},
               [] { require_gpus({.gpus = nullptr, .missing_because = "no driver"}); });
}

}  // namespace
}  // namespace plimsoll::gate
