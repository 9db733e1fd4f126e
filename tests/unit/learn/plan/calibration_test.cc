#include "plan/calibration.h"

#include <gtest/gtest.h>

#include <string>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::plan {
namespace {

void expect_making(const MakingRates& making) {
  EXPECT_TRUE(making.known());
  EXPECT_LT(making.edge_seconds, 1e-3);
  EXPECT_LT(making.row_seconds, 1e-3);
  EXPECT_LT(making.batch_seconds, 1);
}

void expect_figures(const Machine& machine) {
  EXPECT_GT(machine.reads_per_second, 1);
  EXPECT_GE(machine.most_reads_per_second, machine.reads_per_second);
  EXPECT_GT(machine.read_bytes_per_second, 1e3);
  EXPECT_GE(machine.read_bytes, 512U);
  EXPECT_LE(machine.read_bytes, 4096U);
  EXPECT_FALSE(machine.read_method.empty());
  EXPECT_GT(machine.read_seconds, 0);
  expect_making(machine.making);
}

TEST(Calibrate, MeasuresDiskBatchesAndSteps) {
  const TempFolder folder;
  write_file(folder / "rows", std::string(8 * kMiB + 100, 'x'));
  memory::Ledger ledger(kGiB);
  unsigned computing = 0;
  const Machine machine = calibrate(
      folder / "rows", 4,
      [&](unsigned threads, memory::Ledger&) {
        computing = threads;
        return StepRates{.wide_flops = 1e9};
      },
      ledger);
  expect_figures(machine);
  EXPECT_EQ(machine.threads, 4U);
  EXPECT_EQ(computing, 3U);  // the other makes batches
  EXPECT_EQ(machine.step.wide_flops, 1e9);
  EXPECT_TRUE(machine.known());
  EXPECT_GT(ledger.peak_bytes(), 100 * kMiB);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Calibrate, TakesWhatLittleThereIs) {
  const TempFolder folder;
  write_file(folder / "rows", "a store of a few bytes");
  memory::Ledger ledger(16 * kMiB);
  const Machine machine = calibrate(folder / "rows", 1, {}, ledger);
  expect_figures(machine);
  EXPECT_FALSE(machine.known());  // nobody measured steps
}

TEST(Calibrate, HasNoRateOfReadsWithoutBytesToRead) {
  const TempFolder folder;
  write_file(folder / "rows", "");
  memory::Ledger ledger(16 * kMiB);
  for (const std::filesystem::path& file : {folder / "rows", std::filesystem::path()}) {
    const Machine machine = calibrate(file, 1, {}, ledger);
    EXPECT_EQ(machine.reads_per_second, 0);
    EXPECT_EQ(machine.read_bytes_per_second, 0);
    expect_making(machine.making);
  }
}

TEST(Calibrate, NeedsAFile) {
  const TempFolder folder;
  memory::Ledger ledger(16 * kMiB);
  expect_error(ErrorKind::io, {"missing"}, [&] { calibrate(folder / "missing", 1, {}, ledger); });
}

}  // namespace
}  // namespace plimsoll::plan
