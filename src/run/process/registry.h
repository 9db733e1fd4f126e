// What is written down about a run while it lasts, so that a later plimsoll can find what is left
// of it. One small file a run, under $XDG_STATE_HOME/plimsoll/runs; gone when the run is over.
//
// A record decides what is ended and removed, so that it is not taken at its word: it must be a
// file of this user's in a folder of this user's that nobody else can write to, and hold nothing
// that plimsoll would not have written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/host.h"
#include "process/process_ref.h"

namespace plimsoll::process {

// In the environment of every process of a run; its value is the run's name.
constexpr const char* kRunVariable = "PLIMSOLL_RUN";

struct RunRecord {
  std::string run;
  std::string host;
  ProcessId keeper;
  std::vector<std::string> command;
  std::string folder;  // in which it was started
  double started = 0;  // seconds since the epoch
  std::string level;
  std::vector<std::filesystem::path> groups;
  std::string log;
};

// A run's name says whose it is: boot, pid, start time and PID namespace of its plimsoll. So a name
// alone is enough to tell whether that one still lives.
std::string name_run(const ProcessId& supervisor);
std::optional<ProcessId> supervisor_of(std::string_view run);

// $XDG_STATE_HOME/plimsoll, else ~/.local/state/plimsoll; empty where there is no home.
std::filesystem::path state_folder(const memory::Host& host = memory::Host::real());

std::string host_name();

// Makes the folder for records where it is missing. What stands in the way of writing one, empty
// where nothing does; without records a run is supervised all the same, but what erased its
// environment is not found again. Throws Error{disk} where the disk is full.
std::string obstacle_to_records(const std::filesystem::path& state);

// Whole or not at all; returns the file. Throws Error{disk} or Error{io}.
std::filesystem::path write_record(const std::filesystem::path& state, const RunRecord& record);

// What write_record() wrote for a run of that supervisor; throws Error{input} with `name` for any
// other text.
RunRecord record_from(std::string_view text, std::string_view name, const ProcessId& supervisor);

struct UnusableRecord {
  std::filesystem::path file;
  std::string why;  // behind the file's name: "is a symbolic link"
};

struct Records {
  std::vector<RunRecord> usable;  // of this machine alone: a home may be shared by several
  std::vector<UnusableRecord> unusable;
};
Records read_records(const std::filesystem::path& state);

std::filesystem::path record_file(const std::filesystem::path& state, const std::string& run);
void remove_record(const std::filesystem::path& state, const std::string& run);

}  // namespace plimsoll::process
