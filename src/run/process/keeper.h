// The keeper: a process between plimsoll and the command, which ends the tree when plimsoll goes.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/fd.h"
#include "process/launch.h"
#include "process/level.h"
#include "process/tree_group.h"

namespace plimsoll::process {

// What plimsoll and its keeper say to each other: packets over a socket pair, each one struct. Both
// ends are the same program, forked, so that no format needs to be agreed upon.

struct KeeperOrder {
  enum class Kind : uint8_t {
    signal_leader,  // hand `number` on to the command itself
    end,            // ask all to end, with `number` first; kill what is left after the grace
    kill,           // kill all now
  };
  Kind kind = Kind::end;
  int number = 0;
};

struct KeeperReport {
  enum class Kind : uint8_t {
    refused,       // the tree cannot be set up, `text` says why; nothing was started
    started,       // the command runs as `pid`
    not_started,   // exec failed with errno `number`
    leader_ended,  // with wait status `number`; what is left of its tree is being ended
    empty,         // nothing of the tree is alive
  };
  Kind kind = Kind::empty;
  pid_t pid = 0;
  int number = 0;
  Level level = Level::sweep;           // with started: the one in force
  pid_t init = 0;                       // with started, of a pid_namespace
  uint64_t leftovers = 0;               // with empty: how many were alive when the leader had ended
  uint64_t largest_resident_bytes = 0;  // with empty: of any process that was waited for
  double cpu_seconds = 0;               // with empty: of all of them
  std::array<char, 512> text = {};
};

// The keeper: a process between plimsoll and the command that outlives either.
//
//   plimsoll ── keeper ── command ── its children
//
// It is the command's parent and the subreaper of all below it, has a session of its own, so that
// no terminal and no `kill -- -GROUP` reaches it, and waits at a socket. When plimsoll goes,
// however it goes, the socket ends and the keeper ends the tree. When the keeper goes, plimsoll, a
// subreaper too, inherits the tree and ends it. The command itself stays in plimsoll's session and
// process group: for terminal and shell the two are one job, and Ctrl-C, Ctrl-Z and window sizes
// need no help.

constexpr const char* kKeeperName = "run-keeper";  // as /proc and `ps` show it

struct KeeperSetup {
  Launch launch;
  GroupPlan groups;
  std::string run;                   // its name, for the title in `ps`
  std::function<void()> write_down;  // records the run; by the keeper, which does not forget it
  std::function<void()> strike_out;  // takes the record away again
  double grace_seconds = 10;
  std::function<void()> limit_memory;  // called once the groups are there, before the command runs
  std::function<void()> drain;         // moves what the command wrote to where it belongs
  int drain_fd = -1;
};

// plimsoll's end.
struct Keeper {
  pid_t pid = 0;
  Fd socket;  // Orders go in, Reports come out; ends when the keeper does
};

// The caller must be a subreaper with one thread and with all signals blocked that it does not want
// the keeper to die of. Throws Error{refused} where no process can be made; everything later is a
// Report.
Keeper start_keeper(const KeeperSetup& setup);

// The keeper's last wait: plimsoll reads the groups' counters, removes groups and record, and hangs
// up; a plimsoll that was killed hangs up too, and leaves the removing to the keeper.
void wait_for_hang_up(int socket_fd);

}  // namespace plimsoll::process
