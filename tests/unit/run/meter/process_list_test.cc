#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "meter/gpu_processes.h"

namespace plimsoll::meter {
namespace {

using Memory = std::vector<std::byte>;

Memory unwritten(size_t entries) { return Memory(entries * kLargestEntryBytes, kUnwritten); }

void write(Memory& memory, size_t at, uint32_t pid, uint64_t bytes, size_t entry_bytes) {
  std::memset(memory.data() + at, 0, entry_bytes);
  std::memcpy(memory.data() + at, &pid, sizeof pid);
  std::memcpy(memory.data() + at + 8, &bytes, sizeof bytes);
}

TEST(ProcessList, AsksWhichPidsExistWhereTheExtentDoesNotTellTheSize) {
  Memory memory = unwritten(4);
  write(memory, 0, 11, 1, 32);
  write(memory, 32, 12, 2, 32);
  memory[64] = std::byte{1};  // a driver that writes more than it says
  const auto listed =
      parse_process_list(memory, 2, [](pid_t pid) { return pid == 11 || pid == 12; });
  const std::vector<ListedProcess> expected = {{11, 1}, {12, 2}};
  EXPECT_EQ(listed, expected);
}

TEST(ProcessList, IsEmptyWhereTheDriverWroteNothing) {
  EXPECT_TRUE(parse_process_list(unwritten(4), 0, [](pid_t) { return true; }).empty());
}

}  // namespace
}  // namespace plimsoll::meter
