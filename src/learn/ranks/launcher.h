// Starts the ranks of --ranks as processes on this host and waits for them. Promise: when launch()
// returns, none of them is left. A rank that fails or is killed ends the others; if the launcher
// itself is killed, the ranks notice it and stop in order.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace plimsoll::ranks {

struct LaunchRequest {
  std::vector<std::string> command;  // the program and its arguments, the same for every rank
  unsigned ranks = 1;
  // After a rank has failed: how long the others may take to end by themselves before they are
  // asked to (ranks that are still meeting do not notice a loss), and then before they are killed.
  std::chrono::milliseconds patience = std::chrono::seconds(2);
  std::chrono::milliseconds grace = std::chrono::seconds(10);
};

// How a rank ended, as waitpid() reports it.
struct RankEnd {
  unsigned rank = 0;
  int status = 0;

  bool good() const { return status == 0; }
};

struct LaunchEnd {
  std::vector<RankEnd> ends;     // in the order in which they ended
  std::vector<unsigned> asked;   // to end by SIGTERM, because another had failed
  std::vector<unsigned> killed;  // by the launcher, because they did not end in time
};

// The signals of base/interrupt.h are passed on to all ranks. Throws Error{io} if a process cannot
// be started.
LaunchEnd launch(const LaunchRequest& request);

// For a rank: from now on it gets SIGTERM, once, when the launcher has ended. `launcher` is the
// value of kLauncherVariable. (PR_SET_PDEATHSIG would send one for each of the launcher's threads,
// and a second signal ends a training at once.)
void follow_launcher(const std::string& launcher);

// The exit code of the run: that of the rank that failed by itself first. `lost_code` is the code
// of ranks that only stopped because of another, and the result if a rank was killed.
int exit_code_of(const LaunchEnd& end, int lost_code);

// What to tell the user about ranks that a signal ended; empty if there are none.
std::string describe_killed(const LaunchEnd& end);

}  // namespace plimsoll::ranks
