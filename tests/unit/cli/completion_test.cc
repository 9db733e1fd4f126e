#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/arguments.h"
#include "cli/help.h"

namespace plimsoll::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    set_help(app_);
    CLI::App* import = app_.add_subcommand("import", "Make a store");
    CLI::App* ogb = import->add_subcommand("ogb", "Read OGB's files");
    ogb->add_option("INPUT", text_, "what to read")->required()->type_name("");
    ogb->add_option("--type", text_, "type of values [short]: one of two")
        ->check(CLI::IsMember(std::vector<std::string>{"f16", "f32"}));
    ogb->add_option("--out", text_, "the user's store")->type_name("FOLDER");
    add_memory(*ogb, memory_bytes_);
    add_quiet(*ogb, quiet_);
    ogb->add_flag("--secret", quiet_, "not for everybody")->group("");
    app_.add_subcommand("internals", "not for everybody")->group("");
    app_.add_subcommand("shell", "Print")
        ->add_option("SHELL", text_, "which")
        ->check(CLI::IsMember(std::vector<std::string>{"bash", "fish"}));
  }

  // What bash offers for the last of `words`.
  std::vector<std::string> offered_by_bash(const std::string& words) const {
    const std::string script = completion_script(app_, Shell::bash) + "COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _plimsoll; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    // The script goes in by a file descriptor of its own, free of quoting.
    std::FILE* source = std::tmpfile();
    std::fputs(script.c_str(), source);
    std::fflush(source);
    const std::string command = "bash --norc /dev/fd/" + std::to_string(fileno(source)) + " 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0);
    std::fclose(source);
    std::istringstream lines(output);
    std::vector<std::string> offered;
    for (std::string line; lines >> line;) offered.push_back(line);
    return offered;
  }

  CLI::App app_{"Test", "plimsoll"};
  std::string text_;
  bool quiet_ = false;
  std::optional<uint64_t> memory_bytes_;
};

TEST_F(CompletionTest, BashOffersCommandsAndTheirCommands) {
  EXPECT_THAT(offered_by_bash("plimsoll ''"), ElementsAre("import", "shell"));
  EXPECT_THAT(offered_by_bash("plimsoll im"), ElementsAre("import"));
  EXPECT_THAT(offered_by_bash("plimsoll import ''"), ElementsAre("ogb"));
}

TEST_F(CompletionTest, BashOffersTheOptionsOfTheCommandThatWasGiven) {
  EXPECT_THAT(offered_by_bash("plimsoll import ogb --"),
              ElementsAre("--help", "--type", "--out", "--memory", "--quiet"));
  EXPECT_THAT(offered_by_bash("plimsoll shell --"), ElementsAre("--help"));
}

TEST_F(CompletionTest, BashOffersTheValuesOfAFixedSet) {
  EXPECT_THAT(offered_by_bash("plimsoll import ogb x --type ''"), ElementsAre("f16", "f32"));
  EXPECT_THAT(offered_by_bash("plimsoll import ogb x --type = f3"), ElementsAre("f32"));
  EXPECT_THAT(offered_by_bash("plimsoll shell ''"), ElementsAre("bash", "fish"));
}

TEST_F(CompletionTest, BashOffersNothingWhereASizeIsWanted) {
  EXPECT_THAT(offered_by_bash("plimsoll import ogb --memory ''"), ElementsAre());
}

TEST_F(CompletionTest, ZshDescribesOptionsAndEscapesWhatItWouldRead) {
  const std::string script = completion_script(app_, Shell::zsh);
  EXPECT_TRUE(script.starts_with("#compdef plimsoll\n"));
  EXPECT_THAT(
      script,
      HasSubstr(R"('(--type)--type=[type of values \[short\]\: one of two]:{f16,f32}:(f16 f32)')"));
  EXPECT_THAT(script, HasSubstr(R"('(--out)--out=[the user'\''s store]:FOLDER:_files')"));
  EXPECT_THAT(script, HasSubstr(R"('(-q --quiet)-q[show no progress]')"));
  EXPECT_THAT(script, HasSubstr("'ogb:Read OGB'\\''s files'"));
  EXPECT_THAT(script, HasSubstr("'1:INPUT:_files'"));
  EXPECT_THAT(script, HasSubstr("ogb) _plimsoll_import_ogb ;;"));
}

TEST_F(CompletionTest, FishPutsEveryWordUnderItsCommand) {
  const std::string script = completion_script(app_, Shell::fish);
  EXPECT_THAT(script, HasSubstr("-n '__plimsoll_at plimsoll' -a import -d 'Make a store'\n"));
  EXPECT_THAT(script,
              HasSubstr("-n '__plimsoll_at plimsoll import' -a ogb -d 'Read OGB\\'s files'\n"));
  EXPECT_THAT(script,
              HasSubstr("-n '__plimsoll_at plimsoll import ogb' -l type -x -a 'f16 f32' -d "));
  EXPECT_THAT(script, HasSubstr("-n '__plimsoll_at plimsoll import ogb' -l out -r -F -d "));
  EXPECT_THAT(script, HasSubstr("-n '__plimsoll_at plimsoll import ogb' -l memory -x -d "));
  EXPECT_THAT(script, HasSubstr("-n '__plimsoll_at plimsoll import ogb' -s q -l quiet -d "));
  EXPECT_THAT(script, HasSubstr("-n '__plimsoll_at plimsoll import ogb' -F\n"));
}

TEST_F(CompletionTest, KeepsHiddenCommandsAndOptionsHidden) {
  for (const Shell shell : {Shell::bash, Shell::zsh, Shell::fish}) {
    EXPECT_THAT(completion_script(app_, shell),
                AllOf(Not(HasSubstr("secret")), Not(HasSubstr("internals"))));
  }
}

TEST_F(CompletionTest, FollowsTheTree) {
  EXPECT_THAT(offered_by_bash("plimsoll shell --v"), ElementsAre());
  app_.get_subcommand("shell")->add_flag("--verbose", quiet_, "say more");
  EXPECT_THAT(offered_by_bash("plimsoll shell --v"), ElementsAre("--verbose"));
}

}  // namespace
}  // namespace plimsoll::cli
