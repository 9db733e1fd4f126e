#include "plan/machine.h"

#include <gtest/gtest.h>

#include <string>

#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::plan {
namespace {

void expect_figures(const Machine& machine) {
  EXPECT_GT(machine.reads_per_second, 1);
  EXPECT_GT(machine.read_bytes_per_second, 1e3);
  EXPECT_GE(machine.read_bytes, 512U);
  EXPECT_LE(machine.read_bytes, 4096U);
  EXPECT_FALSE(machine.read_method.empty());
  EXPECT_GT(machine.flops_per_second, 1e6);
  EXPECT_GT(machine.rows_per_second, 1e3);
}

TEST(Calibrate, MeasuresDiskProductsAndRows) {
  const TempFolder folder;
  write_file(folder / "rows", std::string(8 * kMiB + 100, 'x'));
  memory::Ledger ledger(kGiB);
  const Machine machine = calibrate(folder / "rows", 2, ledger);
  expect_figures(machine);
  EXPECT_EQ(machine.threads, 2U);
  EXPECT_GT(ledger.peak_bytes(), 100 * kMiB);
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

TEST(Calibrate, TakesWhatLittleThereIs) {
  const TempFolder folder;
  write_file(folder / "rows", "a store of a few bytes");
  memory::Ledger ledger(6 * kMiB);
  expect_figures(calibrate(folder / "rows", 1, ledger));
}

TEST(Calibrate, HasNoRateOfReadsOfAnEmptyFile) {
  const TempFolder folder;
  write_file(folder / "rows", "");
  memory::Ledger ledger(16 * kMiB);
  const Machine machine = calibrate(folder / "rows", 1, ledger);
  EXPECT_EQ(machine.reads_per_second, 0);
  EXPECT_EQ(machine.read_bytes_per_second, 0);
  EXPECT_GT(machine.rows_per_second, 1e3);
}

TEST(Calibrate, NeedsAFile) {
  const TempFolder folder;
  memory::Ledger ledger(16 * kMiB);
  expect_error(ErrorKind::io, {"missing"}, [&] { calibrate(folder / "missing", 1, ledger); });
}

}  // namespace
}  // namespace plimsoll::plan
