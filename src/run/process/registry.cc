#include "process/registry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/fd.h"
#include "base/json.h"
#include "base/units.h"
#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kBootDigits = 8;
constexpr const char* kEnding = ".json";
constexpr const char* kUnfinishedEnding = ".json.new";
constexpr off_t kMostRecordBytes = 16 * kMiB;  // a command line has at most 2 MiB
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

bool is_disk_full(int error) { return error == ENOSPC || error == EDQUOT; }

// Why a file or folder cannot be trusted; empty if it can.
std::string distrust(const struct stat& status) {
  if (status.st_uid != geteuid()) {
    return fmt::format("belongs to user {}, not to user {}", status.st_uid, geteuid());
  }
  if ((status.st_mode & kOthersWrite) != 0) return "can be written to by other users";
  return {};
}

struct OpenFolder {
  Fd fd;
  std::string obstacle;  // why it cannot be used, starting with the folder's name
  bool missing = false;
};

// Opens the folder of records. The folder above it is checked too: whoever can write there could
// replace the folder of records.
OpenFolder open_records(const fs::path& state) {
  OpenFolder folder;
  const fs::path path = state / "runs";
  folder.fd = Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.fd) {
    folder.missing = errno == ENOENT;
    folder.obstacle = fmt::format("{} cannot be opened: {}", path.string(), std::strerror(errno));
    return folder;
  }
  struct stat above = {};
  struct stat itself = {};
  if (stat(state.c_str(), &above) != 0 || fstat(folder.fd.get(), &itself) != 0) {
    folder.obstacle = fmt::format("{} cannot be examined", path.string());
  } else if (const std::string why = distrust(above); !why.empty()) {
    folder.obstacle = fmt::format("{} {}", state.string(), why);
  } else if (const std::string reason = distrust(itself); !reason.empty()) {
    folder.obstacle = fmt::format("{} {}", path.string(), reason);
  }
  return folder;
}

// Makes a folder that only this user can write to, independent of the umask.
std::string make_private_folder(const fs::path& path) {
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    if (is_disk_full(errno)) fail_errno("make the folder", path.string(), errno);
    return fmt::format("cannot make {}: {}", path.string(), std::strerror(errno));
  }
  const Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (folder && fstat(folder.get(), &status) == 0 && status.st_uid == geteuid() &&
      (status.st_mode & kOthersWrite) != 0) {
    fchmod(folder.get(), status.st_mode & ~kOthersWrite & 07777U);
  }
  return {};
}

void write_fully(int fd, const std::string& text, const fs::path& file) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("write the run's record", file.string(), errno);
    done += static_cast<size_t>(count);
  }
  if (fsync(fd) != 0) fail_errno("write the run's record", file.string(), errno);
}

json to_json(const RunRecord& record) {
  json groups = json::array();
  for (const fs::path& group : record.groups) groups.push_back(group.string());
  return {{"run", record.run},
          {"host", record.host},
          {"keeper", {{"pid", record.keeper.pid}, {"start_ticks", record.keeper.start_ticks}}},
          {"command", record.command},
          {"folder", record.folder},
          {"started", record.started},
          {"level", record.level ? name(*record.level) : ""},
          {"groups", groups},
          {"log", record.log}};
}

// What in the record plimsoll would not have written; empty if the record is plausible.
std::string implausible(const RunRecord& record, const std::string& run) {
  const auto could_be_path = [](const fs::path& path) {
    return path.empty() || path.is_absolute();
  };
  if (record.run != run) return fmt::format("is about another run, {}", record.run);
  if (!record.level) return "names an unknown level";
  if (record.keeper.pid <= 1) return fmt::format("names {} as its keeper", record.keeper.pid);
  if (record.groups.size() > 2) return "names more control groups than a run has";
  for (const fs::path& group : record.groups) {
    if (could_be_group_of(run, group)) continue;
    return fmt::format("names {}, which is not a control group of this run", group.string());
  }
  if (!could_be_path(record.log) || !could_be_path(record.folder)) return "names a relative path";
  return {};
}

struct Reading {
  std::optional<RunRecord> record;
  std::string obstacle;
};

Reading refuse(std::string why) { return {.record = {}, .obstacle = std::move(why)}; }

Reading read_record(int folder, const std::string& name) {
  // O_NOFOLLOW: no symbolic links. O_NONBLOCK: a pipe must not block us.
  const Fd file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};  // the run has ended meanwhile
  if (!file && errno == ELOOP) return refuse("is a symbolic link");
  if (!file) return refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return refuse("is not a regular file");
  }
  if (const std::string why = distrust(status); !why.empty()) return refuse(why);
  if (status.st_size > kMostRecordBytes) return refuse("is too large");
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t count = pread(file.get(), text.data(), text.size(), 0);
  if (count != static_cast<ssize_t>(text.size())) return refuse("cannot be read");
  const std::string run = name.substr(0, name.size() - std::strlen(kEnding));
  const auto supervisor = supervisor_of(run);
  if (!supervisor) return refuse("is not named after a run");
  try {
    RunRecord record = record_from(text, name, *supervisor);
    std::string why = implausible(record, run);
    if (!why.empty()) return refuse(std::move(why));
    return {.record = std::move(record), .obstacle = {}};
  } catch (const Error&) {
    return refuse("is damaged or from another version of plimsoll");
  }
}

bool is_of_this_machine(const RunRecord& record) {
  return record.host == host_name() || record.keeper.boot == boot_id();
}

// A plimsoll that was killed while writing leaves an unfinished record.
bool is_abandoned(const std::string& run) {
  const auto supervisor = supervisor_of(run);
  return !supervisor || presence_of(*supervisor) == Presence::ended;
}

}  // namespace

RunRecord record_from(std::string_view text, std::string_view name, const ProcessId& supervisor) {
  return from_json<json>(text, name, [&](const json& object) {
    RunRecord record{.run = object.at("run"),
                     .host = object.at("host"),
                     .keeper = supervisor,  // it has the same boot and namespace
                     .command = object.at("command"),
                     .folder = object.at("folder"),
                     .started = object.at("started"),
                     .level = level_named(object.at("level").get<std::string>()),
                     .groups = {},
                     .log = object.at("log")};
    record.keeper.pid = whole_in<pid_t>(object.at("keeper"), "pid");
    record.keeper.start_ticks = whole_in<uint64_t>(object.at("keeper"), "start_ticks");
    for (const std::string group : object.at("groups")) record.groups.emplace_back(group);
    return record;
  });
}

std::string name_run(const ProcessId& supervisor) {
  static int runs_of_this_process = 0;
  return fmt::format("{}-{}-{}-{}-{}", supervisor.boot.substr(0, kBootDigits), supervisor.pid,
                     supervisor.start_ticks, supervisor.pid_namespace, ++runs_of_this_process);
}

std::optional<ProcessId> supervisor_of(std::string_view run) {
  std::array<uint64_t, 4> numbers = {};
  const std::string_view boot = run.substr(0, run.find('-'));
  if (boot.size() != kBootDigits ||
      boot.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return {};
  }
  const char* at = boot.data() + boot.size();
  const char* const end = run.data() + run.size();
  for (uint64_t& number : numbers) {
    if (at == end || *at != '-') return {};
    const auto [next, error] = std::from_chars(at + 1, end, number);
    if (error != std::errc()) return {};
    at = next;
  }
  const auto [pid, start_ticks, name_space, count] = numbers;
  if (at != end || pid == 0 || pid > std::numeric_limits<pid_t>::max()) return {};
  // For another boot the first digits are enough: the id only has to differ from this boot's.
  return ProcessId{.boot = boot_id().starts_with(boot) ? boot_id() : std::string(boot),
                   .pid = static_cast<pid_t>(pid),
                   .start_ticks = start_ticks,
                   .pid_namespace = name_space};
}

fs::path state_folder(const Host& host) {
  return user_folder(host, "XDG_STATE_HOME", ".local/state");
}

std::string obstacle_to_records(const fs::path& state) {
  if (state.empty()) return "neither XDG_STATE_HOME nor HOME is set";
  std::error_code error;
  fs::create_directories(state.parent_path(), error);
  if (is_disk_full(error.value())) {
    fail_errno("make the folder", state.parent_path().string(), error.value());
  }
  for (const fs::path& folder : {state, state / "runs"}) {
    std::string why = make_private_folder(folder);
    if (!why.empty()) return why;
  }
  const OpenFolder folder = open_records(state);
  if (folder.obstacle.empty() && faccessat(folder.fd.get(), ".", W_OK, AT_EACCESS) != 0) {
    return fmt::format("{}: {}", (state / "runs").string(), std::strerror(errno));
  }
  return folder.obstacle;
}

fs::path record_file(const fs::path& state, const std::string& run) {
  return state / "runs" / (run + kEnding);
}

fs::path write_record(const fs::path& state, const RunRecord& record) {
  fs::path file = record_file(state, record.run);
  const OpenFolder folder = open_records(state);
  if (!folder.obstacle.empty()) {
    fail(ErrorKind::io, "cannot write the run's record: {}", folder.obstacle);
  }
  const std::string name = file.filename().string();
  const std::string unfinished = record.run + kUnfinishedEnding;
  const Fd opened(openat(folder.fd.get(), unfinished.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!opened) fail_errno("write the run's record", file.string(), errno);
  try {
    const json object = to_json(record);
    write_fully(opened.get(), object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
                file);
    if (renameat(folder.fd.get(), unfinished.c_str(), folder.fd.get(), name.c_str()) != 0) {
      fail_errno("write the run's record", file.string(), errno);
    }
  } catch (...) {
    unlinkat(folder.fd.get(), unfinished.c_str(), 0);
    throw;
  }
  return file;
}

Records read_records(const fs::path& state) {
  Records records;
  if (state.empty()) return records;
  const fs::path path = state / "runs";
  const OpenFolder folder = open_records(state);
  if (folder.missing) return records;
  if (!folder.obstacle.empty()) {
    records.unusable.push_back({path, "is not trusted: " + folder.obstacle});
    return records;
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kUnfinishedEnding)) {
      if (is_abandoned(name.substr(0, name.size() - std::strlen(kUnfinishedEnding)))) {
        records.unusable.push_back({entry.path(), "was never finished"});
      }
      continue;
    }
    if (!name.ends_with(kEnding)) {
      records.unusable.push_back({entry.path(), "is not a record"});
      continue;
    }
    Reading reading = read_record(folder.fd.get(), name);
    if (!reading.obstacle.empty()) {
      records.unusable.push_back({entry.path(), std::move(reading.obstacle)});
    } else if (reading.record && is_of_this_machine(*reading.record)) {
      records.usable.push_back(std::move(*reading.record));
    }
  }
  return records;
}

void remove_record(const fs::path& state, const std::string& run) {
  std::error_code ignored;
  if (!state.empty()) fs::remove(record_file(state, run), ignored);
}

}  // namespace plimsoll::process
