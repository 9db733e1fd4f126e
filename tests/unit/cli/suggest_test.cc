#include <gtest/gtest.h>

#include <optional>

#include "cli/arguments.h"
#include "cli/help.h"

namespace plimsoll::cli {
namespace {

using Words = std::vector<std::string>;

TEST(EditDistance, CountsInsertionsRemovalsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("inspect", "inspect"), 0);
  EXPECT_EQ(edit_distance("ispect", "inspect"), 1);
  EXPECT_EQ(edit_distance("inspectt", "inspect"), 1);
  EXPECT_EQ(edit_distance("inspekt", "inspect"), 1);
  EXPECT_EQ(edit_distance("memroy", "memory"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(EditDistance, IsTheSameInBothDirections) {
  EXPECT_EQ(edit_distance("ca", "abc"), edit_distance("abc", "ca"));
  EXPECT_EQ(edit_distance("--thread", "--threads"), edit_distance("--threads", "--thread"));
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const Words options = {"--memory", "--threads", "--json"};
  EXPECT_EQ(nearest("--memroy", options), "--memory");
  EXPECT_EQ(nearest("--thread", options), "--threads");
  EXPECT_EQ(nearest("--jsn", options), "--json");
}

TEST(Nearest, TakesTheOnlyWordThatBeginsSo) {
  EXPECT_EQ(nearest("comp", {"import", "completion", "synth"}), "completion");
}

TEST(Nearest, GivesNothingWhenNoWordIsNear) {
  EXPECT_EQ(nearest("frobnicate", {"import", "synth"}), std::nullopt);
  EXPECT_EQ(nearest("--", {"--memory"}), std::nullopt);
  EXPECT_EQ(nearest("", {"import"}), std::nullopt);
  EXPECT_EQ(nearest("word", {}), std::nullopt);
}

TEST(Nearest, TakesUpperAndLowerCaseAsTheSame) {
  EXPECT_EQ(nearest("vulberta", {"examples", "VulBERTa"}), "VulBERTa");
  EXPECT_EQ(nearest("MNIST-FF", {"mnist", "mnist_ff"}), "mnist_ff");
}

TEST(Nearest, TakesTheFirstOfEquals) { EXPECT_EQ(nearest("cat", {"bat", "hat"}), "bat"); }

// A program like the real one, and what it says to a command line.
class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    set_help(app_);
    app_.require_subcommand(1);
    CLI::App* inspect = app_.add_subcommand("inspect", "Inspects");
    inspect->add_option("STORE", text_)->required();
    inspect->add_flag("--json", flag_);
    inspect->add_option("--type", text_)->check(CLI::IsMember(Words{"f16", "f32"}));
    inspect->add_option("--count", count_)->check(whole_number(1, 9));
    inspect->add_option("--ratio", ratio_);
    add_memory(*inspect, memory_bytes_);
    CLI::App* import = app_.add_subcommand("import", "Imports");
    import->require_subcommand(1);
    import->add_subcommand("ogb", "Imports ogb")->add_option("--out", text_)->required();
  }

  std::string said_to(Words words) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
      return "nothing";
    } catch (const CLI::ParseError& error) {
      return given_command(app_) + ": " + explain_parse_error(app_, error);
    }
  }

  CLI::App app_{"Test", "plimsoll"};
  std::string text_;
  bool flag_ = false;
  uint64_t count_ = 0;
  double ratio_ = 0;
  std::optional<uint64_t> memory_bytes_;
};

TEST_F(ExplainTest, SaysNothingToAGoodCommandLine) {
  EXPECT_EQ(said_to({"inspect", "x", "--memory", "8G"}), "nothing");
  EXPECT_EQ(memory_bytes_, uint64_t{8} << 30);
}

TEST_F(ExplainTest, SuggestsTheOptionThatWasMeant) {
  EXPECT_EQ(said_to({"inspect", "x", "--memroy", "8G"}),
            "plimsoll inspect: unknown option --memroy; did you mean --memory?");
  EXPECT_EQ(said_to({"inspect", "x", "--memroy=8G"}),
            "plimsoll inspect: unknown option --memroy; did you mean --memory?");
  EXPECT_EQ(said_to({"inspect", "x", "--frobnicate"}),
            "plimsoll inspect: unknown option --frobnicate");
}

TEST_F(ExplainTest, NamesAMistypedRequiredOptionRatherThanItsAbsence) {
  EXPECT_EQ(said_to({"import", "ogb", "--otu", "x"}),
            "plimsoll import ogb: unknown option --otu; did you mean --out?");
}

TEST_F(ExplainTest, SuggestsTheCommandThatWasMeant) {
  EXPECT_EQ(said_to({"ispect", "x"}), "plimsoll: unknown command ispect; did you mean inspect?");
  EXPECT_EQ(said_to({"import", "obg"}), "plimsoll import: unknown command obg; did you mean ogb?");
  EXPECT_EQ(said_to({"frobnicate"}),
            "plimsoll: unknown command frobnicate; there are inspect, import");
}

TEST_F(ExplainTest, NamesWhatIsMissing) {
  EXPECT_EQ(said_to({}), "plimsoll: a command is missing; there are inspect, import");
  EXPECT_EQ(said_to({"inspect"}), "plimsoll inspect: STORE is missing");
  EXPECT_EQ(said_to({"import", "ogb"}), "plimsoll import ogb: --out is missing");
  EXPECT_EQ(said_to({"inspect", "x", "--memory"}), "plimsoll inspect: --memory needs a value");
  EXPECT_EQ(said_to({"inspect", "x", "--type", "--count", "3"}),
            "plimsoll inspect: --type needs a value; --count follows it");
}

TEST_F(ExplainTest, NamesWhatIsTooMuch) {
  EXPECT_EQ(said_to({"inspect", "x", "y"}), "plimsoll inspect: unexpected argument 'y'");
  EXPECT_EQ(said_to({"inspect", "x", "--memory", "1G", "--memory", "2G"}),
            "plimsoll inspect: --memory is given more than once");
  EXPECT_EQ(said_to({"inspect", "x", "--json=maybe"}), "plimsoll inspect: --json takes no value");
}

TEST_F(ExplainTest, SaysWhatAValueShouldBe) {
  EXPECT_EQ(said_to({"inspect", "x", "--memory", "much"}),
            "plimsoll inspect: --memory: 'much' is not a size; write it like 8G, 512M or 1.5GiB");
  EXPECT_EQ(said_to({"inspect", "x", "--type", "f61"}),
            "plimsoll inspect: --type cannot be 'f61'; did you mean f16?");
  EXPECT_EQ(said_to({"inspect", "x", "--type", "int"}),
            "plimsoll inspect: --type cannot be 'int'; choose from f16, f32");
  EXPECT_EQ(said_to({"inspect", "x", "--ratio", "half"}),
            "plimsoll inspect: --ratio cannot be 'half'; write a number");
}

TEST_F(ExplainTest, TakesNoNumberThatIsNotWhole) {
  for (const std::string text : {"0", "10", "-1", "+1", "1.5", "07", "1e0", "0x1", ""}) {
    EXPECT_EQ(said_to({"inspect", "x", "--count", text}),
              "plimsoll inspect: --count: '" + text + "' is not a whole number from 1 to 9");
  }
  EXPECT_EQ(said_to({"inspect", "x", "--count", "7"}), "nothing");
  EXPECT_EQ(count_, 7);
}

}  // namespace
}  // namespace plimsoll::cli
