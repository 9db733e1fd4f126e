#include "ranks/rank_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::ranks {
namespace {

constexpr uint64_t kMostPort = 65535;
// Slurm's numbers of steps that are not srun's: batch scripts, external and interactive steps.
constexpr uint64_t kFirstSpecialStep = 0xfffffff0;
// Below the ports that kernels give to clients (32768 on Linux), so that none of them has it.
constexpr uint64_t kFirstPort = 10'000;
constexpr uint64_t kPorts = 20'000;

// The first number of "03-05,9": the text up to a dash, a comma or the end.
std::string_view first_number(std::string_view numbers) {
  return numbers.substr(0, numbers.find_first_of("-,"));
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<uint64_t> whole_number(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  std::optional<std::string> text(const std::string& name) const { return variables_(name); }
  // The variable's number; Error{usage} if it is set to something else or above `most`.
  std::optional<uint64_t> number(const std::string& name, uint64_t most) const {
    const auto value = variables_(name);
    if (!value) return std::nullopt;
    const auto number = whole_number(*value);
    if (number && *number <= most) return number;
    fail(ErrorKind::usage, "the variable {}={} is not a whole number up to {}; unset or correct it",
         name, *value, most);
  }
  // Error{usage} if some of these are set and others are not.
  void require(const std::vector<std::string>& names, std::string_view who) const {
    std::string given;
    std::string missing;
    for (const std::string& name : names) {
      std::string& list = variables_(name) ? given : missing;
      list += (list.empty() ? "" : ", ") + name;
    }
    if (missing.empty()) return;
    fail(ErrorKind::usage,
         "the variables of {} are incomplete: {} set, {} missing; set all of them, or unset them "
         "to train in one process",
         who, given, missing);
  }

 private:
  const Variables& variables_;
};

// A task of srun has a step of its own. A batch script has PROCID and NTASKS as well, but is one
// process: there --ranks, srun or torchrun start the ranks.
bool in_srun_step(const Reader& reader) {
  const auto step = reader.number("SLURM_STEP_ID", UINT32_MAX);
  return step && *step < kFirstSpecialStep;
}

const char* slurm_size_name(const Reader& reader) {
  return reader.text("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
}

const char* slurm_hosts_name(const Reader& reader) {
  return reader.text("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
}

struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
};

void check_rank(const RankPlace& place, const Names& names) {
  if (place.size == 0 || place.rank >= place.size) {
    fail(ErrorKind::usage,
         "the variables {}={} and {}={} contradict each other: ranks count from "
         "0 to one less than their number",
         names.rank, place.rank, names.size, place.size);
  }
  if (place.local_rank > place.rank) {
    fail(ErrorKind::usage,
         "the variables {}={} and {}={} contradict each other: a rank has at least as many ranks "
         "before it as there are before it on its host",
         names.rank, place.rank, names.local_rank, place.local_rank);
  }
}

void check_address(const RankPlace& place) {
  if (!place.address.empty() && place.port != 0) return;
  fail(ErrorKind::usage,
       "MASTER_ADDR={} and MASTER_PORT={} are not an address where ranks can meet", place.address,
       place.port);
}

// Variables that a shell still has from another training would let every task of srun train alone,
// or two of them as the same rank. A launcher inside of a task, such as torchrun, starts more ranks
// than there are tasks, or says that it is there.
void check_against_srun(const Reader& reader, const RankPlace& place) {
  if (reader.text("TORCHELASTIC_RUN_ID") || !in_srun_step(reader)) return;
  const char* const size_name = slurm_size_name(reader);
  const auto task = reader.number("SLURM_PROCID", kMostRanks);
  const auto tasks = reader.number(size_name, kMostRanks);
  if (!task || !tasks || *tasks == 1 || place.size > *tasks) return;
  if (place.size == *tasks && place.rank == *task) return;
  fail(
      ErrorKind::usage,
      "the variables RANK={}, WORLD_SIZE={} and those of Slurm, SLURM_PROCID={}, {}={}, contradict "
      "each other; unset RANK and WORLD_SIZE",
      place.rank, place.size, *task, size_name, *tasks);
}

// The launcher's ranks have the variables of torchrun, too.
RankPlace from_torchrun(const Reader& reader) {
  reader.require({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}, "torchrun");
  RankPlace place{.rank = static_cast<unsigned>(*reader.number("RANK", kMostRanks)),
                  .size = static_cast<unsigned>(*reader.number("WORLD_SIZE", kMostRanks)),
                  .address = *reader.text("MASTER_ADDR"),
                  .port = static_cast<uint16_t>(*reader.number("MASTER_PORT", kMostPort)),
                  .agent_serves = reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True",
                  .attempt = reader.text("TORCHELASTIC_RESTART_COUNT").value_or("0"),
                  .source = RankSource::torchrun};
  // One process a host, as in a Kubernetes pod, needs no local rank.
  place.local_rank = static_cast<unsigned>(reader.number("LOCAL_RANK", kMostRanks).value_or(0));
  check_rank(place, {"RANK", "WORLD_SIZE", "LOCAL_RANK"});
  const auto local_size = reader.number("LOCAL_WORLD_SIZE", kMostRanks);
  if (local_size && (place.local_rank >= *local_size || *local_size > place.size)) {
    fail(ErrorKind::usage,
         "the variables LOCAL_RANK={}, LOCAL_WORLD_SIZE={} and WORLD_SIZE={} contradict each other",
         place.local_rank, *local_size, place.size);
  }
  check_address(place);
  if (!reader.text(kLauncherVariable)) check_against_srun(reader, place);
  return place;
}

RankPlace from_slurm(const Reader& reader) {
  const char* const size_name = slurm_size_name(reader);
  const char* const hosts_name = slurm_hosts_name(reader);
  reader.require({"SLURM_PROCID", size_name, "SLURM_LOCALID", hosts_name, "SLURM_JOB_ID"}, "Slurm");
  RankPlace place{.rank = static_cast<unsigned>(*reader.number("SLURM_PROCID", kMostRanks)),
                  .size = static_cast<unsigned>(*reader.number(size_name, kMostRanks)),
                  .local_rank = static_cast<unsigned>(*reader.number("SLURM_LOCALID", kMostRanks)),
                  .source = RankSource::slurm};
  check_rank(place, {"SLURM_PROCID", size_name, "SLURM_LOCALID"});
  const auto other = reader.number("LOCAL_RANK", kMostRanks);
  if (other && *other != place.local_rank) {
    fail(ErrorKind::usage,
         "the variables SLURM_LOCALID={} and LOCAL_RANK={} contradict each other; unset LOCAL_RANK",
         place.local_rank, *other);
  }
  const std::string hosts = *reader.text(hosts_name);
  const auto host = first_host(hosts);
  if (!host) fail(ErrorKind::usage, "the variable {}={} is not a list of nodes", hosts_name, hosts);
  place.address = reader.text("MASTER_ADDR").value_or(*host);
  const uint64_t job = *reader.number("SLURM_JOB_ID", UINT32_MAX);
  const uint64_t step = *reader.number("SLURM_STEP_ID", UINT32_MAX);
  const auto port = reader.number("MASTER_PORT", kMostPort);
  place.port = static_cast<uint16_t>(port.value_or(kFirstPort + (job + step) % kPorts));
  check_address(place);
  return place;
}

}  // namespace

// A name may have several brackets, as in "rack[1-2]node[1-4]": the first of each counts.
std::optional<std::string> first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      const size_t end = std::min(list.find_first_of("[,"), list.size());
      host += list.substr(0, end);
      list.remove_prefix(end);
      continue;
    }
    const size_t end = list.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view number = first_number(list.substr(1, end - 1));
    if (!is_number(number)) return std::nullopt;
    host += number;
    list.remove_prefix(end + 1);
  }
  const bool valid = !host.empty() && host.find_first_of("] \t\n") == std::string::npos;
  return valid ? std::optional(host) : std::nullopt;
}

RankPlace find_place(const Variables& variables, unsigned asked) {
  const Reader reader(variables);
  RankPlace place;
  // MASTER_ADDR and MASTER_PORT do not count: they may be there for srun. So may the local rank.
  const bool has_local = reader.text("LOCAL_RANK") || reader.text("LOCAL_WORLD_SIZE");
  if (reader.text("RANK") || reader.text("WORLD_SIZE") || (has_local && !in_srun_step(reader))) {
    place = from_torchrun(reader);
    if (reader.text(kLauncherVariable)) place.source = RankSource::launcher;
  } else if (in_srun_step(reader)) {
    place = from_slurm(reader);
    // srun with one task, as for an interactive shell: --ranks may start ranks in it.
    if (place.size == 1) place = {};
  }
  if (place.source == RankSource::none) {
    if (asked > 1) return {.size = asked, .source = RankSource::option};
    return {};
  }
  if (asked > 0 && asked != place.size) {
    fail(ErrorKind::usage,
         "--ranks {} and {}={} contradict each other; leave --ranks out, or unset the variables",
         asked, place.source == RankSource::slurm ? slurm_size_name(reader) : "WORLD_SIZE",
         place.size);
  }
  return place.size == 1 ? RankPlace() : place;
}

std::string describe(const RankPlace& place) {
  switch (place.source) {
    case RankSource::none:
      return "one process";
    case RankSource::option:
    case RankSource::launcher:
      return fmt::format("{} on this host, from --ranks", counted(place.size, "rank"));
    case RankSource::torchrun:
      return fmt::format("{}, from torchrun's variables; they meet at {}:{}",
                         counted(place.size, "rank"), place.address, place.port);
    case RankSource::slurm:
      return fmt::format("{}, from Slurm's variables; they meet at {}:{}",
                         counted(place.size, "rank"), place.address, place.port);
  }
  return "";
}

}  // namespace plimsoll::ranks
