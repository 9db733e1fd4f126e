// That the windows of rows on disk end with what they were made of. What they hold is tested with
// trainings (tests/scenario/train_gpu_test.sh).
#include "gpu/cold_rows.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "base/units.h"
#include "far_sighted.h"
#include "sample/small_graph.h"
#include "temp_folder.h"

namespace plimsoll::gpu {
namespace {

// The memory of a window must not stay with the driver when it is given back to the system.
TEST(ColdRows, LeavesNoWindowWithTheGpuWhereverItIsRefused) {
  const TempFolder temp;
  sample::write_store(temp / "store", {.lists = sample::random_lists(500, 5, 5)});
  const graph::Store store = graph::open(temp / "store");
  const ColdOptions options = {.first_row = 100, .window_bytes = kMiB};
  uint64_t taken = 0;
  {
    FarSighted device(kGiB);
    memory::Ledger host(kGiB);
    std::optional<ColdRows> rows(std::in_place, store, device, host, options);
    taken = host.used_bytes();
    EXPECT_EQ(device.seen(), 2U);
    rows.reset();
    EXPECT_EQ(device.seen(), 0U);
    EXPECT_EQ(host.used_bytes(), 0U);
  }
  // The second window, the first one, and what comes before both.
  for (const uint64_t missing : {uint64_t{1}, kMiB, kMiB + 1, 2 * kMiB + 1}) {
    FarSighted device(kGiB);
    memory::Ledger host(taken - missing);
    expect_error(ErrorKind::memory, {}, [&] { const ColdRows rows(store, device, host, options); });
    EXPECT_EQ(device.concealed(), missing <= kMiB ? 1U : 0U);
    EXPECT_EQ(device.seen(), 0U) << missing;
    EXPECT_EQ(host.used_bytes(), 0U) << missing;
  }
}

}  // namespace
}  // namespace plimsoll::gpu
