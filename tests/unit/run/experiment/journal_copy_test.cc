#include "experiment/journal_copy.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <string>
#include <vector>

#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

class Database {
 public:
  explicit Database(const fs::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &database_), SQLITE_OK);
    run("PRAGMA locking_mode=EXCLUSIVE");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { close(); }

  void close() {
    sqlite3_close(database_);
    database_ = nullptr;
  }

  bool run(const std::string& sql) {
    return sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  // The first cell of the first row.
  std::string ask(const char* sql) {
    std::string answer;
    const auto take = [](void* into, int, char** cells, char**) {
      *static_cast<std::string*>(into) = cells[0] == nullptr ? "" : cells[0];
      return 1;
    };
    sqlite3_exec(database_, sql, take, &answer, nullptr);
    return answer;
  }

 private:
  sqlite3* database_ = nullptr;
};

// A journal whose driver has it open: a row in the file, a row in the log.
class JournalCopyTest : public testing::Test {
 protected:
  JournalCopyTest() : driver_(file_) {
    driver_.run("PRAGMA journal_mode=WAL");
    driver_.run("PRAGMA synchronous=OFF");
    driver_.run("CREATE TABLE rows (number INTEGER, filling BLOB)");
    add("1");
    driver_.run("PRAGMA wal_checkpoint(TRUNCATE)");
    add("2");
  }
  void add(const std::string& number) {
    EXPECT_TRUE(driver_.run("INSERT INTO rows VALUES (" + number + ", zeroblob(9000))"));
  }
  // Everything that was written before; `meanwhile` happens between the two files, once.
  std::string copied(const std::function<void()>& meanwhile = {}) const {
    bool done = !meanwhile;
    const JournalCopy copy(file_, [&] {
      if (!done) meanwhile();
      done = true;
    });
    Database database(copy.file());
    EXPECT_EQ(database.ask("PRAGMA integrity_check"), "ok");
    return database.ask("SELECT group_concat(number) FROM rows");
  }

  TempFolder folder_;
  fs::path file_ = folder_ / "journal.sqlite";
  Database driver_;
};

TEST_F(JournalCopyTest, HasTheFileAndTheLog) { EXPECT_EQ(copied(), "1,2"); }

TEST_F(JournalCopyTest, HasWhatIsAppendedMeanwhile) {
  EXPECT_EQ(copied([&] { add("3"); }), "1,2,3");
}

TEST_F(JournalCopyTest, IsWholeThoughTheLogGoesIntoTheFileMeanwhile) {
  EXPECT_EQ(copied([&] { driver_.run("PRAGMA wal_checkpoint(FULL)"); }), "1,2");
}

TEST_F(JournalCopyTest, IsWholeThoughTheLogBeginsAnewMeanwhile) {
  EXPECT_EQ(copied([&] {
              driver_.run("PRAGMA wal_checkpoint(FULL)");
              add("3");
            }),
            "1,2,3");
}

TEST_F(JournalCopyTest, IsWholeThoughTheDriverEndsMeanwhile) {
  EXPECT_EQ(copied([&] { driver_.close(); }), "1,2");
  EXPECT_EQ(names_in(folder_.path()), std::vector<std::string>{"journal.sqlite"});
}

TEST_F(JournalCopyTest, IsWholeThoughADriverComesAndGoesMeanwhile) {
  driver_.close();
  EXPECT_EQ(copied([&] {
              Database next(file_);
              next.run("INSERT INTO rows VALUES (3, zeroblob(9000))");
            }),
            "1,2,3");
}

TEST(JournalCopy, OfWhatCannotBeReadIsAnErrorWithItsName) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"journal.sqlite"},
               [&] { const JournalCopy copy(folder / "journal.sqlite"); });
}

}  // namespace
}  // namespace plimsoll::experiment
