// A rank is one of several processes that train together. This file finds out which rank a process
// is, of how many, and where they meet: from torchrun's variables, else from Slurm's, else from
// --ranks. It only reads variables: nothing is started or connected.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::ranks {

enum class RankSource {
  none,      // a training in one process
  torchrun,  // RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT
  slurm,     // SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID and the node list, in a step of srun
  option,    // --ranks: this process must start the ranks
  launcher,  // --ranks: this process was started as a rank
};

struct RankPlace {
  unsigned rank = 0;
  unsigned size = 1;
  unsigned local_rank = 0;  // among the ranks of this host: selects the GPU
  std::string address;      // where all ranks meet: the host of rank 0, or of torchrun's agent
  uint16_t port = 0;
  bool agent_serves = false;  // torchrun's agent already listens at the address
  std::string attempt = "0";  // of torchrun, which starts ranks again that have failed
  RankSource source = RankSource::none;
};

using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// The variable that marks a process that the launcher started: the launcher's process number.
constexpr const char* kLauncherVariable = "PLIMSOLL_RANKS";

// The most ranks of a run. Larger numbers are typing errors.
constexpr unsigned kMostRanks = 4096;

// `asked` is the number of --ranks, 0 if it is not given. Throws Error{usage} that names the
// variables if they are incomplete, no numbers, or contradict each other or --ranks.
RankPlace find_place(const Variables& variables, unsigned asked);

// The first host of Slurm's short form of a node list: "gpu[03-05,9],login1" -> "gpu03". Nothing if
// the text is no such list.
std::optional<std::string> first_host(std::string_view node_list);

// "8 ranks, from Slurm's variables; they meet at n01:12345"
std::string describe(const RankPlace& place);

}  // namespace plimsoll::ranks
