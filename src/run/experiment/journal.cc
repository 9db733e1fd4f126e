#include "experiment/journal.h"

#include <sqlite3.h>

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/run_files.h"
#include "experiment/journal_copy.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = "1";
constexpr int kBusyMilliseconds = 10000;  // in case another program reads the file

// Only the driver uses the file (EXCLUSIVE). Then SQLite needs no shared-memory file next to it,
// which fails on network disks and would require write access from readers. Readers take a copy.
constexpr const char* kAlone = "PRAGMA locking_mode=EXCLUSIVE";
// A transaction is on the disk when it returns (synchronous=FULL), except in run_unsynced().
constexpr const char* kSettle =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
    "PRAGMA cache_size=-256;";  // KiB; small, because pages are written once and rarely read
constexpr const char* kTables = R"(
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE experiments (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    plan TEXT NOT NULL, result TEXT NOT NULL DEFAULT '');
  CREATE TABLE attempts (experiment INTEGER NOT NULL REFERENCES experiments(number),
    number INTEGER NOT NULL, plan TEXT NOT NULL, process TEXT NOT NULL DEFAULT '',
    result TEXT NOT NULL DEFAULT '', PRIMARY KEY (experiment, number));
)";
// Not in journals of version 0.1.
constexpr const char* kReports = R"(
  CREATE TABLE IF NOT EXISTS reports (experiment INTEGER NOT NULL REFERENCES experiments(number),
    step INTEGER NOT NULL, report TEXT NOT NULL, decision TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '', PRIMARY KEY (experiment, step));
)";

// The words of a decision in the table.
constexpr const char* kStopWord = "stop";
constexpr const char* kGoOnWord = "continue";

StepDecision decision_of(const std::string& word) {
  if (word.empty()) return StepDecision::none;
  return word == kStopWord ? StepDecision::stop : StepDecision::go_on;
}

fs::path file_in(const fs::path& folder) { return folder / kJournalFile; }

fs::path existing_file_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail(ErrorKind::io, "there is no folder {}", folder.string());
  fs::path file = file_in(folder);
  if (!fs::exists(file)) {
    fail(ErrorKind::io, "{} is not a run: it has no journal.sqlite", folder.string());
  }
  return file;
}

class Statement {
 public:
  Statement(sqlite3* database, const char* sql, const std::string& file)
      : database_(database), file_(file) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK) fail_with_it();
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  // Numbers are the first parameters of a statement, texts follow. SQLite copies the texts.
  void bind(const std::vector<int64_t>& numbers, const std::vector<std::string>& texts) {
    int index = 0;
    for (const int64_t number : numbers) sqlite3_bind_int64(statement_, ++index, number);
    for (const std::string& text : texts) {
      sqlite3_bind_text(statement_, ++index, text.data(), static_cast<int>(text.size()),
                        SQLITE_TRANSIENT);
    }
  }
  // False after the last row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) fail_with_it();
    return false;
  }
  std::vector<std::string> row() const {
    std::vector<std::string> cells;
    for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
      const void* text = sqlite3_column_blob(statement_, i);
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, i));
      cells.emplace_back(static_cast<const char*>(text), text == nullptr ? 0 : size);
    }
    return cells;
  }

 private:
  [[noreturn]] void fail_with_it() const {
    const bool full = sqlite3_errcode(database_) == SQLITE_FULL;
    fail(full ? ErrorKind::disk : ErrorKind::io, "the journal {}: {}", file_,
         sqlite3_errmsg(database_));
  }

  sqlite3* database_;
  const std::string& file_;
  sqlite3_stmt* statement_ = nullptr;
};

void execute(sqlite3* database, const char* sql, const std::string& file) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return;
  const bool full = sqlite3_errcode(database) == SQLITE_FULL;
  fail(full ? ErrorKind::disk : ErrorKind::io, "the journal {}: {}", file,
       sqlite3_errmsg(database));
}

}  // namespace

void Journal::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Journal::Journal(const fs::path& file, int flags) : file_(file.string()) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &database, flags, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) {
    fail(ErrorKind::io, "cannot open the journal {}: {}", file_, sqlite3_errstr(code));
  }
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  execute(database, kAlone, file_);
}

Journal Journal::create(const fs::path& folder, const std::string& settings,
                        const std::vector<JournalEntry>& queue) {
  const fs::path file = file_in(folder);
  if (fs::exists(file)) {
    fail(ErrorKind::exists, "{} already has a journal; --resume continues it", folder.string());
  }
  Journal journal(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* const database = journal.database_.get();
  execute(database, kSettle, journal.file_);
  // One transaction: if the driver is killed here, the journal has no plan at all.
  execute(database, "BEGIN IMMEDIATE", journal.file_);
  execute(database, kTables, journal.file_);
  execute(database, kReports, journal.file_);
  journal.run("INSERT INTO facts VALUES ('version', ?)", {kVersion}, {});
  journal.run("INSERT INTO facts VALUES ('settings', ?)", {settings}, {});
  for (const JournalEntry& entry : queue) {
    journal.run("INSERT INTO experiments (number, id, plan) VALUES (?, ?, ?)",
                {entry.id, entry.plan}, {entry.number});
  }
  execute(database, "COMMIT", journal.file_);
  return journal;
}

Journal Journal::open(const fs::path& folder) {
  const fs::path file = existing_file_in(folder);
  Journal journal(file, SQLITE_OPEN_READWRITE);
  if (sqlite3_db_readonly(journal.database_.get(), nullptr) == 1) {
    fail(ErrorKind::io, "cannot write the journal {}; check its owner and permissions",
         journal.file_);
  }
  journal.check(folder);
  execute(journal.database_.get(), kSettle, journal.file_);
  execute(journal.database_.get(), kReports, journal.file_);
  return journal;
}

Journal Journal::open_to_read(const fs::path& folder) {
  const fs::path file = existing_file_in(folder);
  const JournalCopy copy(file);
  Journal journal(copy.file(), SQLITE_OPEN_READWRITE);
  journal.file_ = file.string();
  execute(journal.database_.get(), "PRAGMA synchronous=OFF", journal.file_);
  journal.check(folder);
  return journal;  // the copy stays open but its files are deleted now: a kill leaves nothing
                   // behind
}

void Journal::check(const fs::path& folder) const {
  if (rows("SELECT name FROM sqlite_master WHERE name = 'facts'").empty()) {
    fail(ErrorKind::input, "the plan in {} is incomplete; start the batch again", folder.string());
  }
  const auto found = rows("SELECT value FROM facts WHERE name = 'version'");
  if (found.empty() || found[0][0] != kVersion) {
    fail(ErrorKind::input, "the journal {} is from another version of plimsoll", file_);
  }
}

void Journal::run(const char* sql, const std::vector<std::string>& texts,
                  const std::vector<int64_t>& numbers) const {
  Statement statement(database_.get(), sql, file_);
  statement.bind(numbers, texts);
  statement.step();
}

// Writes without a sync; the next synced statement covers it. A sync takes as long as all other
// bookkeeping of an experiment.
void Journal::run_unsynced(const char* sql, const std::vector<std::string>& texts,
                           const std::vector<int64_t>& numbers) const {
  execute(database_.get(), "PRAGMA synchronous=NORMAL", file_);
  run(sql, texts, numbers);
  execute(database_.get(), "PRAGMA synchronous=FULL", file_);
}

std::vector<std::vector<std::string>> Journal::rows(const char* sql) const {
  Statement statement(database_.get(), sql, file_);
  std::vector<std::vector<std::string>> all;
  while (statement.step()) all.push_back(statement.row());
  return all;
}

std::string Journal::settings() const {
  return rows("SELECT value FROM facts WHERE name = 'settings'").at(0).at(0);
}

int64_t Journal::number_in(const std::string& cell) const {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || number < 1) {
    fail(ErrorKind::input, "the journal {} has the invalid number '{}'", file_, cell);
  }
  return number;
}

std::vector<JournalEntry> Journal::entries() const {
  std::vector<JournalEntry> entries;
  for (auto& row : rows("SELECT number, id, plan, result FROM experiments ORDER BY number")) {
    entries.push_back({.number = number_in(row[0]),
                       .id = std::move(row[1]),
                       .plan = std::move(row[2]),
                       .result = std::move(row[3])});
  }
  return entries;
}

std::vector<JournalAttempt> Journal::attempts() const {
  std::vector<JournalAttempt> attempts;
  for (auto& row : rows("SELECT experiment, number, plan, process, result FROM attempts "
                        "ORDER BY experiment, number")) {
    attempts.push_back({.experiment = number_in(row[0]),
                        .number = number_in(row[1]),
                        .plan = std::move(row[2]),
                        .process = std::move(row[3]),
                        .result = std::move(row[4])});
  }
  return attempts;
}

void Journal::begin_attempt(int64_t experiment, int64_t number, const std::string& plan) {
  run("INSERT INTO attempts (experiment, number, plan) VALUES (?, ?, ?)", {plan},
      {experiment, number});
}

void Journal::attempt_started(int64_t experiment, int64_t number, const std::string& process) {
  run_unsynced("UPDATE attempts SET process = ?3 WHERE experiment = ?1 AND number = ?2", {process},
               {experiment, number});
}

void Journal::end_attempt(int64_t experiment, int64_t number, const std::string& result) {
  run_unsynced("UPDATE attempts SET result = ?3 WHERE experiment = ?1 AND number = ?2", {result},
               {experiment, number});
}

void Journal::report(const JournalReport& report) {
  if (report.decision == StepDecision::none) {
    run_unsynced("INSERT OR IGNORE INTO reports (experiment, step, report) VALUES (?, ?, ?)",
                 {report.report}, {report.experiment, report.step});
    return;
  }
  run_unsynced(
      "INSERT OR REPLACE INTO reports (experiment, step, report, decision, reason) "
      "VALUES (?, ?, ?, ?, ?)",
      {report.report, report.decision == StepDecision::stop ? kStopWord : kGoOnWord, report.reason},
      {report.experiment, report.step});
}

std::vector<JournalReport> Journal::reports() const {
  std::vector<JournalReport> all;
  if (rows("SELECT name FROM sqlite_master WHERE name = 'reports'").empty()) return all;
  for (auto& row : rows("SELECT experiment, step, report, decision, reason FROM reports "
                        "ORDER BY experiment, step")) {
    all.push_back({.experiment = number_in(row[0]),
                   .step = number_in(row[1]),
                   .report = std::move(row[2]),
                   .decision = decision_of(row[3]),
                   .reason = std::move(row[4])});
  }
  return all;
}

std::string Journal::fact(const std::string& name) const {
  Statement statement(database_.get(), "SELECT value FROM facts WHERE name = ?", file_);
  statement.bind({}, {name});
  return statement.step() ? statement.row().at(0) : "";
}

void Journal::set_fact(const std::string& name, const std::string& value) {
  if (value == fact(name)) return;
  run("INSERT OR REPLACE INTO facts VALUES (?, ?)", {name, value}, {});
}

void Journal::finish(int64_t experiment, const std::string& result) {
  run("UPDATE experiments SET result = ?2 WHERE number = ?1", {result}, {experiment});
}

void Journal::reopen(const std::vector<Reopened>& experiments) {
  execute(database_.get(), "BEGIN IMMEDIATE", file_);
  try {
    for (const Reopened& again : experiments) {
      run("UPDATE experiments SET result = '' WHERE number = ?", {}, {again.experiment});
      for (const JournalAttempt& attempt : again.attempts) {
        run("UPDATE attempts SET result = ?3 WHERE experiment = ?1 AND number = ?2",
            {attempt.result}, {attempt.experiment, attempt.number});
      }
    }
    execute(database_.get(), "COMMIT", file_);
  } catch (...) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

std::string Journal::paused() const { return fact("paused"); }

void Journal::set_paused(const std::string& why) { set_fact("paused", why); }

}  // namespace plimsoll::experiment
