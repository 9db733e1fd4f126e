// Records of the runs in progress, so that a later plimsoll can find processes left over from them.
// One small file per run, under $XDG_STATE_HOME/plimsoll/runs; it is removed when the run ends.
//
// A record decides which processes are ended and which groups are removed, so it is checked before
// use: the file and its folders must belong to this user, other users must not be able to write to
// them, and the content must be something that plimsoll could have written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "process/process_ref.h"
#include "process/tree.h"

namespace plimsoll::process {

// In the environment of every process of a run; its value is the run's name.
constexpr const char* kRunVariable = "PLIMSOLL_RUN";

struct RunRecord {
  std::string run;
  std::string host;
  ProcessId keeper;
  std::vector<std::string> command;
  std::string folder;          // working directory in which it was started
  double started = 0;          // seconds since the epoch
  std::optional<Level> level;  // nothing: a word that this version does not know
  std::vector<std::filesystem::path> groups;
  std::string log;
};

// A run's name contains the identity of its plimsoll: boot, pid, start time and PID namespace. The
// name alone is enough to find out whether that plimsoll is still alive.
std::string name_run(const ProcessId& supervisor);
std::optional<ProcessId> supervisor_of(std::string_view run);

// $XDG_STATE_HOME/plimsoll, otherwise $HOME/.local/state/plimsoll; empty if neither variable is an
// absolute path.
std::filesystem::path state_folder(const Host& host = Host::real());

// Makes the folder for records if it is missing. Returns why records cannot be written; empty if
// they can. A run without a record is supervised as usual, but later a leftover process that
// cleared its environment is not found. Throws Error{disk} if the disk is full.
std::string obstacle_to_records(const std::filesystem::path& state);

// Writes the record completely or not at all; returns the file. Throws Error{disk} or Error{io}.
std::filesystem::path write_record(const std::filesystem::path& state, const RunRecord& record);

// Parses what write_record() wrote for a run of that supervisor. Throws Error{input} with `name`
// for any other text.
RunRecord record_from(std::string_view text, std::string_view name, const ProcessId& supervisor);

struct UnusableRecord {
  std::filesystem::path file;
  std::string why;  // follows the file's name in a message: "is a symbolic link"
};

struct Records {
  std::vector<RunRecord> usable;  // of this machine only: several machines may share a home
  std::vector<UnusableRecord> unusable;
};
Records read_records(const std::filesystem::path& state);

std::filesystem::path record_file(const std::filesystem::path& state, const std::string& run);
void remove_record(const std::filesystem::path& state, const std::string& run);

}  // namespace plimsoll::process
