#include "base/host.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "temp_folder.h"

namespace plimsoll {
namespace {

TEST(KernelText, IsNothingWhereTheFileIsMissingOrEmpty) {
  const TempFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "full", "a 1\nb 2");
  EXPECT_EQ(read_text(folder / "missing"), std::nullopt);
  EXPECT_EQ(read_text(folder / "empty"), std::nullopt);
  EXPECT_EQ(read_text(folder.path()), std::nullopt);
  EXPECT_EQ(read_text(folder / "full"), "a 1\nb 2");
}

TEST(KernelText, BeginsWithANumberOrWithNone) {
  EXPECT_EQ(leading_number("17\n"), 17U);
  EXPECT_EQ(leading_number("\t  17 kB"), 17U);
  EXPECT_EQ(leading_number("18446744073709551615"), 18446744073709551615U);
  for (const char* none : {"", " ", "max\n", "-1", "18446744073709551616"}) {
    EXPECT_EQ(leading_number(none), std::nullopt) << none;
  }
}

TEST(KernelText, TellsTheNumberBehindAWord) {
  const std::string text = "anon 4096\nanon_thp 7\nVmRSS:\t  12 kB\nfile\nnext 9";
  EXPECT_EQ(number_of(text, "anon"), 4096U);
  EXPECT_EQ(number_of(text, "anon_thp"), 7U);
  EXPECT_EQ(number_of(text, "VmRSS:"), 12U);
  EXPECT_EQ(number_of(text, "next"), 9U);
  EXPECT_EQ(number_of(text, "file"), std::nullopt);
  EXPECT_EQ(number_of(text, "thp"), std::nullopt);
  EXPECT_EQ(number_of("", "anon"), std::nullopt);
}

TEST(Kernel, TellsItsMemoryItsKillsItsStartAndItsCpu) {
  const TempFolder folder;
  const Host host{.root = folder.path(), .variable = {}};
  EXPECT_EQ(read_meminfo(host).total_bytes, std::nullopt);
  EXPECT_EQ(oom_kills(host), std::nullopt);
  EXPECT_EQ(boot_id(host), "");
  EXPECT_EQ(pid_namespace(host), 0U);
  EXPECT_EQ(cpu_name(host), "");
  write_file(folder / "proc/meminfo", "MemTotal:   8 kB\nMemAvailable:  3 kB\nSwapTotal: 0 kB\n");
  write_file(folder / "proc/vmstat", "nr_free_pages 9\noom_kill 2\n");
  write_file(folder / "proc/sys/kernel/random/boot_id", "5f3c\n");
  write_file(folder / "proc/cpuinfo", "processor\t: 0\nmodel\t: 17\nmodel name\t: EPYC 9\n");
  EXPECT_EQ(read_meminfo(host).total_bytes, 8192U);
  EXPECT_EQ(read_meminfo(host).available_bytes, 3072U);
  EXPECT_EQ(read_meminfo(host).swap_bytes, 0U);
  EXPECT_EQ(oom_kills(host), 2U);
  EXPECT_EQ(boot_id(host), "5f3c");
  EXPECT_EQ(cpu_name(host), "EPYC 9");
  EXPECT_GT(pid_namespace(Host::real()), 0U);
}

TEST(BusyCpuSeconds, CountsEverythingButIdlingAndWaiting) {
  EXPECT_EQ(busy_cpu_seconds("cpu  100 20 30 9000 800 4 6 40 7 8\ncpu0 1 2 3\n", 100), 2.0);
  EXPECT_EQ(busy_cpu_seconds("cpu 100 20 30 9000 800 4 6", 100), 1.6);  // of old, without steal
}

TEST(BusyCpuSeconds, KnowsNothingOfAnotherText) {
  for (const char* text : {"", "cpu", "cpu 1 2 3", "cpu one two", "intr 1 2 3 4 5 6 7 8"}) {
    EXPECT_FALSE(busy_cpu_seconds(text, 100)) << text;
  }
  EXPECT_FALSE(busy_cpu_seconds("cpu 1 2 3 4 5 6 7 8", 0));
}

TEST(LocalTime, OfTimesThatNoCalendarHasIsTheFirstOrTheLast) {
  EXPECT_EQ(local_time(NAN).tm_year, local_time(0).tm_year);
  EXPECT_EQ(local_time(-1e300).tm_year, local_time(0).tm_year);
  EXPECT_GE(local_time(1e300).tm_year + 1900, 9999);
}

TEST(HostName, IsTheOneBesideResults) { EXPECT_EQ(host_facts(Host::real()).host, host_name()); }

}  // namespace
}  // namespace plimsoll
