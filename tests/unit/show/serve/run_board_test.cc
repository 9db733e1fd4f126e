#include "serve/run_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "serve/request.h"
#include "serve/simple_views.h"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;
using report::FoundRun;
using report::FoundState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr milliseconds kNow{0};

class RunBoardTest : public testing::Test {
 protected:
  void write(const std::string& run, const std::string& text) const {
    write_file(folder_ / run / "results.json", text);
  }
  TempFolder folder_;
  RunBoard board_{fs::canonical(folder_.path()), simple_views()};
};

TEST_F(RunBoardTest, ShowsWhatIsThere) {
  write("a", "one");
  write("b", "two");
  board_.look(kNow);
  EXPECT_EQ(board_.runs(), 2U);
  EXPECT_EQ(*board_.list().text, "a: one\nb: two\n");
  const auto body = board_.run(id_of("b"));
  ASSERT_TRUE(body);
  EXPECT_EQ(*body->text, "two");
  EXPECT_EQ(body->title, "b");
  EXPECT_EQ(body->version, board_.version(id_of("b")));
  EXPECT_FALSE(board_.run(id_of("c")));
}

TEST_F(RunBoardTest, ChangesTheVersionOnlyOfWhatChanged) {
  write("a", "one");
  write("b", "two");
  board_.look(kNow);
  const std::string list = board_.version("");
  const std::string a = board_.version(id_of("a"));
  const std::string b = board_.version(id_of("b"));
  board_.look(kNow);
  EXPECT_EQ(board_.version(""), list);
  write("b", "three");
  board_.look(kNow);
  EXPECT_NE(board_.version(""), list);
  EXPECT_EQ(board_.version(id_of("a")), a);
  EXPECT_NE(board_.version(id_of("b")), b);
  EXPECT_EQ(*board_.run(id_of("b"))->text, "three");
}

TEST_F(RunBoardTest, FindsNewRunsAndForgetsRemovedOnes) {
  write("a", "one");
  fs::create_directories(folder_ / "b");
  board_.look(kNow);
  write("b", "two");  // in a folder that was there before
  board_.look(kNow);
  EXPECT_EQ(board_.runs(), 2U);
  fs::remove_all(folder_ / "a");
  board_.look(kNow);
  EXPECT_EQ(board_.runs(), 1U);
  EXPECT_EQ(board_.version(id_of("a")), "");
  fs::remove(folder_ / "b/results.json");
  board_.look(kNow);
  EXPECT_EQ(board_.runs(), 0U);
}

TEST_F(RunBoardTest, LooksNoMoreOftenThanAsked) {
  write("a", "one");
  board_.look(kNow);
  write("b", "two");
  board_.look(seconds(3600));
  EXPECT_EQ(board_.runs(), 1U);
}

TEST_F(RunBoardTest, HidesRunsWhoseFilesAreLinksToElsewhere) {
  const TempFolder elsewhere;
  write_file(elsewhere / "results.json", "secret");
  fs::create_directories(folder_ / "a");
  fs::create_symlink(elsewhere / "results.json", folder_ / "a/results.json");
  fs::create_symlink(elsewhere.path(), folder_ / "b");
  board_.look(kNow);
  fs::create_directories(folder_ / "c");
  write("c", "one");
  fs::create_symlink(elsewhere.path(), folder_ / "c/seed_1");
  write("d", "one");
  fs::create_directories(folder_ / "d/seed_1");
  fs::create_symlink(elsewhere / "results.json", folder_ / "d/seed_1/results.json");
  board_.look(kNow);
  EXPECT_EQ(board_.runs(), 0U);
  write("e", "one");
  fs::create_symlink(folder_ / "c/results.json", folder_ / "e/link.json");
  board_.look(kNow);
  EXPECT_EQ(board_.runs(), 1U);
}

TEST_F(RunBoardTest, SaysWhyARunCannotBeShown) {
  write("a", "damaged");
  board_.look(kNow);
  const std::string text = *board_.run(id_of("a"))->text;
  EXPECT_THAT(text, HasSubstr("&lt;damaged"));
  EXPECT_THAT(text, Not(HasSubstr("<damaged>")));
}

TEST_F(RunBoardTest, MeasuresTrainings) {
  write("a", "running");
  board_.look(kNow);
  const auto runs = board_.measured();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].state, FoundState::running);
  ASSERT_TRUE(runs[0].figures);
  EXPECT_EQ(runs[0].figures->epoch, 3);
}

TEST_F(RunBoardTest, WakesThoseWhoWaitForAChange) {
  write("a", "one");
  board_.look(kNow);
  const std::string before = board_.version(id_of("a"));
  std::string after;
  std::thread waiting([&] { after = board_.wait(id_of("a"), before, seconds(600)); });
  write("a", "other");
  board_.look(kNow);
  waiting.join();
  EXPECT_NE(after, before);
  EXPECT_EQ(after, board_.version(id_of("a")));
}

TEST_F(RunBoardTest, StopsAllWaiting) {
  board_.look(kNow);
  std::thread waiting([&] { board_.wait("", board_.version(""), seconds(600)); });
  board_.stop();
  waiting.join();
  EXPECT_TRUE(board_.stopped());
  board_.wait("", board_.version(""), seconds(600));  // returns at once from now on
}

TEST_F(RunBoardTest, WaitsNoLongerThanItsPatience) {
  board_.look(kNow);
  EXPECT_EQ(board_.wait("", board_.version(""), milliseconds(1)), board_.version(""));
}

// For ThreadSanitizer.
TEST_F(RunBoardTest, MayBeUsedByManyThreads) {
  write("a", "0");
  board_.look(kNow);
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        (void)board_.list();
        (void)board_.run(id_of("a"));
        (void)board_.measured();
        (void)board_.wait(id_of("a"), board_.version(id_of("a")), milliseconds(1));
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    write("a", std::to_string(i));
    board_.look(kNow);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(*board_.run(id_of("a"))->text, "49");
}

}  // namespace
}  // namespace plimsoll::serve
