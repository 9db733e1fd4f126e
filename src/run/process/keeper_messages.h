// What plimsoll and its keeper say to each other: packets over a socket pair, each one struct. Both
// ends are the same program, forked, so that no format needs to be agreed upon.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "process/level.h"

namespace plimsoll::process {

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

}  // namespace plimsoll::process
