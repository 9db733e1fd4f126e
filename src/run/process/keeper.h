// The keeper: a process between plimsoll and the command. It ends the command's process tree when
// plimsoll dies.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/fd.h"
#include "process/launch.h"
#include "process/tree.h"
#include "process/tree_group.h"

namespace plimsoll::process {

// plimsoll and its keeper exchange packets over a socket pair. Each packet is one struct: both ends
// are the same program, forked, so they share its layout.

struct KeeperOrder {
  enum class Kind : uint8_t {
    signal_leader,  // send signal `number` to the command itself
    end,   // send `number`, then SIGTERM, to the tree; kill the rest after the grace period
    kill,  // kill the whole tree now
    beat,  // answer with a beat
  };
  Kind kind = Kind::end;
  int number = 0;
};

struct KeeperReport {
  enum class Kind : uint8_t {
    refused,       // the tree cannot be set up, `text` says why; nothing was started
    started,       // the command runs as `pid`
    not_started,   // exec failed with errno `number`
    leader_ended,  // with wait status `number`; the keeper now ends the rest of the tree
    empty,         // no process of the tree is alive
    beat,          // the keeper works
  };
  Kind kind = Kind::empty;
  pid_t pid = 0;
  int number = 0;
  Level level = Level::sweep;           // with started: the level in use
  pid_t init = 0;                       // with started: first process of a pid_namespace
  uint64_t leftovers = 0;               // with empty: processes still alive when the leader ended
  uint64_t largest_resident_bytes = 0;  // with empty: maximum over all processes waited for
  double cpu_seconds = 0;               // with empty: sum over all processes waited for
  std::array<char, 512> text = {};
};

// How the three processes are related:
//
//   plimsoll ── keeper ── command ── its children
//
// The keeper is the parent of the command and the subreaper of all its descendants. It has its own
// session, so no terminal and no `kill -- -GROUP` reaches it, and it waits at a socket. When
// plimsoll ends, for any reason, the socket closes and the keeper ends the tree. When the keeper
// ends first, plimsoll, which is also a subreaper, inherits the tree and ends it. The command stays
// in plimsoll's session and process group: terminal and shell see one job, so Ctrl-C, Ctrl-Z and
// window sizes work as usual.

constexpr const char* kKeeperName = "run-keeper";  // its name in /proc and `ps`

struct KeeperSetup {
  Launch launch;
  GroupPlan groups;
  std::string run;                   // its name, for the title in `ps`
  std::function<void()> write_down;  // called in the keeper: writes the run's record
  std::function<void()> strike_out;  // called in the keeper: removes the record
  double grace_seconds = kDefaultGraceSeconds;
  std::function<void()> limit_memory;  // called after the groups are made, before the command runs
  std::function<void()> drain;         // copies the command's output to the log
  int drain_fd = -1;
};

// plimsoll's handle to its keeper.
struct Keeper {
  pid_t pid = 0;
  Fd socket;  // send KeeperOrder, receive KeeperReport; closes when the keeper ends
};

// The caller must be a subreaper with one thread, and must block all signals that should not kill
// the keeper. Throws Error{refused} if no socket or process can be made; later failures arrive as a
// KeeperReport.
Keeper start_keeper(const KeeperSetup& setup);

// The keeper's last wait, until plimsoll closes the socket. plimsoll first reads the groups'
// counters and removes the groups and the record. If plimsoll was killed, the socket closes too,
// and the keeper removes them.
void wait_for_hang_up(int socket_fd);

}  // namespace plimsoll::process
