// What is written down about a run while it lasts, so that a later plimsoll can find what is left
// of it. One small file a run, under $XDG_STATE_HOME/plimsoll/runs; gone when the run is over.
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
  ProcessId supervisor;
  std::vector<std::string> command;
  std::string folder;  // in which it was started
  double started = 0;  // seconds since the epoch
  std::string level;
  std::vector<std::filesystem::path> groups;
  std::string log;
};

// A run's name says whose it is: boot, pid and start time of its plimsoll. So a name alone is
// enough to tell whether that one still lives.
std::string name_run(const ProcessId& supervisor);
std::optional<ProcessId> supervisor_of(std::string_view run);

// $XDG_STATE_HOME/plimsoll, else ~/.local/state/plimsoll; empty where there is no home.
std::filesystem::path state_folder(const memory::Host& host = memory::Host::real());

std::string host_name();

// The file that was written; empty where that was not possible, which harms nothing but the
// leftovers' names.
std::filesystem::path write_record(const std::filesystem::path& state, const RunRecord& record);

// What write_record() wrote; throws Error{input} with `name` for any other text.
RunRecord record_from(std::string_view text, std::string_view name);

// Of this machine alone: a home may be shared by several.
std::vector<RunRecord> read_records(const std::filesystem::path& state);
void remove_record(const std::filesystem::path& state, const std::string& run);

}  // namespace plimsoll::process
