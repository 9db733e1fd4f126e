// The ranks of a run as a group: which of them share a host, and how they talk to each other
// without tensors. The training library implements it with c10d (train/rank_group.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "ranks/beat.h"
#include "ranks/rank_place.h"

namespace plimsoll::ranks {

// One rank's process, as the others know it. Two ranks share a host if their `machine` is the same:
// the kernel's boot id, and the namespace that gives processes their numbers.
struct RankProcess {
  std::string host;  // its name, for messages
  std::string machine;
  int pid = 0;

  bool operator==(const RankProcess&) const = default;
};

RankProcess this_process(const Host& host = Host::real());

// As text for another rank, and back. Throws Error{internal} if the text has another form.
std::string to_text(const RankProcess& process);
RankProcess parse_process(std::string_view text);

// The ranks on the same host as `rank`, in ascending order, itself included. The first is the
// host's leader, which loads what they share.
std::vector<unsigned> ranks_of_host(const std::vector<RankProcess>& all, unsigned rank);

struct GroupOptions {
  BeatLimits limits;
  // Ends this process at once. It is called on a thread of the group if a rank is lost and this
  // process has not ended soon after: its training thread hangs, too, or is in the middle of long
  // work. `speaks` says whether this rank prints. Nothing: the process is left alone.
  std::function<void(const std::string& why, bool speaks)> end_process;
};

// For one thread. All ranks must make the same calls in the same order, except give_up().
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual const RankPlace& place() const = 0;
  virtual const std::vector<RankProcess>& processes() const = 0;  // by rank

  // The texts of all ranks, by rank. Throws Error{lost} if a rank ended or no longer answers.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;

  // Tells the others that this rank ends, and why. They stop with Error{lost}. Returns false if
  // another rank has ended before.
  virtual bool give_up(const std::string& why) noexcept = 0;

  // The last call of a run that ends in order, or if all ranks know why it ends. Afterwards ranks
  // may end at any time, and give_up() does nothing.
  virtual void leave() = 0;

  // This rank is at work and not stuck. Cheap enough for every batch, and for any thread. Before
  // the first call no progress is expected. Throws Error{lost} like exchange().
  virtual void progress() = 0;

  // Whether rank 0 ended without saying why, or no longer answers.
  virtual bool first_is_lost() const = 0;

  // Returns the value of rank 0 on all ranks.
  bool agree(bool mine);

  bool first() const { return place().rank == 0; }
  // Whether this rank prints. If rank 0 is lost, it is rank 1.
  bool speaks() const { return place().rank == (first_is_lost() ? 1U : 0U); }
  std::vector<unsigned> host_ranks() const { return ranks_of_host(processes(), place().rank); }
  bool leads_host() const { return host_ranks().front() == place().rank; }
};

// "rank 2 on node7"
std::string rank_name(const Group& group, unsigned rank);

}  // namespace plimsoll::ranks
