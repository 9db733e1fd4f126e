#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/help.h"

namespace plimsoll::cli {
namespace {

using Words = std::vector<std::string>;

// What is said about `words` where every kind of memory option is known; empty when they are fine.
std::string said_about(Words words) {
  CLI::App app("Test", "plimsoll");
  std::optional<uint64_t> memory;
  std::optional<uint64_t> gpu_free;
  std::optional<uint64_t> training;
  std::vector<std::optional<uint64_t>> planned;
  CLI::App* import = app.add_subcommand("import", "Import");
  add_memory(*import, memory);
  add_bytes(*import, "--gpu-free", gpu_free, "free memory");
  add_training_memory(*app.add_subcommand("train", "Train"), training);
  add_training_memories(*app.add_subcommand("plan", "Plan"), planned);
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return explain_parse_error(app, error);
  }
  return "";
}

TEST(MemoryOptions, RefuseASizeThatNoProgramCanWorkIn) {
  const std::string meant = "--memory: '8' is 8 B, less than any program needs; did you mean 8G?";
  EXPECT_EQ(said_about({"import", "--memory", "8"}), meant);
  EXPECT_EQ(said_about({"train", "--memory", "8"}), meant);
  EXPECT_EQ(said_about({"plan", "--memory", "8"}), meant);
  EXPECT_EQ(said_about({"plan", "--memory", "auto,16G,8"}), meant);
  EXPECT_EQ(said_about({"import", "--gpu-free", "8"}),
            "--gpu-free: '8' is 8 B, less than any program needs; did you mean 8G?");
}

TEST(MemoryOptions, GuessTheUnitFromTheNumber) {
  EXPECT_EQ(said_about({"train", "--memory", "1.5K"}),
            "--memory: '1.5K' is 1.5 KiB, less than any program needs; did you mean 1.5G?");
  EXPECT_EQ(said_about({"train", "--memory", "16384"}),
            "--memory: '16384' is 16.0 KiB, less than any program needs; did you mean 16384M?");
  EXPECT_EQ(said_about({"train", "--memory", "0"}),
            "--memory: '0' is 0 B, less than any program needs; write it like 8G");
}

TEST(MemoryOptions, AcceptWhatAProgramCanWorkIn) {
  for (const char* size : {"1M", "1048576", "8G", "0.5G"}) {
    EXPECT_EQ(said_about({"import", "--memory", size, "--gpu-free", size}), "") << size;
    EXPECT_EQ(said_about({"train", "--memory", size}), "") << size;
  }
  EXPECT_EQ(said_about({"train", "--memory", "auto"}), "");
  EXPECT_EQ(said_about({"plan", "--memory", "8G,auto"}), "");
}

}  // namespace
}  // namespace plimsoll::cli
