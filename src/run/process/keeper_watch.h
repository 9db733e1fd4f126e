// plimsoll's side of its keeper: sends it orders, and makes sure that it works. The command could
// stop its keeper, and a debugger or a freezer could hold it; then neither a time limit nor the end
// of the tree would work. So a stopped keeper is continued. One that is stopped again and again, or
// that does not answer when it is needed, is killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "process/keeper.h"

namespace plimsoll::process {

class KeeperWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kCheckInterval{1000};

  explicit KeeperWatch(std::function<void(const std::string&)> say) : say_(std::move(say)) {}
  // Ends the keeper, also after an exception: without plimsoll it ends the tree.
  ~KeeperWatch() { end(); }
  KeeperWatch(const KeeperWatch&) = delete;
  KeeperWatch& operator=(const KeeperWatch&) = delete;

  void start(const KeeperSetup& setup) { keeper_ = start_keeper(setup); }
  pid_t pid() const { return keeper_.pid; }
  int fd() const { return keeper_.socket.get(); }  // KeeperReports arrive here

  // Sends an order. A stopped keeper reads nothing: then the order waits for send_again(), unless
  // it is a signal for the leader. A later order replaces one that waits, but a signal does not.
  void order(KeeperOrder::Kind kind, int number = 0);
  void send_again();

  // Whether its end of the socket has closed. The kernel closes it before it gives us the keeper's
  // children.
  bool has_ended() const;

  // Call it once per kCheckInterval while the keeper lives. `needed`: there is a tree to end, or
  // the end of the command to report.
  void check(Clock::time_point now, bool needed);
  void answered();  // call it when a beat arrives

  bool given_up() const { return fault_ != Fault::none; }  // it was killed by us
  bool was_silent() const { return fault_ == Fault::silent; }
  std::string describe_loss() const;  // "killed", "stopped repeatedly"

  // Closes the socket and waits for the keeper's end.
  void end();
  // The keeper was killed, and its children are ours now.
  void forget() { keeper_.pid = 0; }

 private:
  enum class Fault { none, stopped, silent };
  void continue_if_stopped(Clock::time_point now);
  void ask_for_beat(Clock::time_point now);
  void give_up(Fault fault);
  void wait_for_end();

  const std::function<void(const std::string&)> say_;
  Keeper keeper_;
  std::optional<KeeperOrder> unsent_;
  Clock::time_point first_stopped_at_;
  int stops_ = 0;
  std::optional<Clock::time_point> beat_asked_at_;  // and not answered yet
  int silent_looks_ = 0;
  Fault fault_ = Fault::none;
};

}  // namespace plimsoll::process
