#include "process/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "process/command_output.h"
#include "process/keeper.h"
#include "process/own_stream.h"
#include "process/process_ref.h"
#include "process/registry.h"
#include "process/signal_inbox.h"
#include "process/tree_sampler.h"
#include "process/tree_watch.h"

namespace plimsoll::process {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLongestWait{1000};
constexpr double kStoppedBeyond = 5;  // a longer wait means that we were stopped, as by Ctrl-Z
constexpr std::chrono::seconds kSayWaitAfter{1};
constexpr double kSayStuckAfter = 5;  // after the grace period
// A stopped keeper is continued with SIGCONT. One that is stopped more often than this is killed.
constexpr int kMostStops = 10;
constexpr double kStopsWithinSeconds = 60;
// The keeper must answer while it is needed. One that a debugger or a freezer holds is killed.
constexpr int kMostSilentLooks = 10;
constexpr double kSecondsOfALook = 0.9;
constexpr milliseconds kKeeperEnds{100};
constexpr size_t kTailBytes = size_t{64} << 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Why processes are being ended.
std::string describe(Cut cut, int signal) {
  switch (cut) {
    case Cut::timeout:
      return "the --timeout has passed";
    case Cut::idle:
      return "the command hangs";
    case Cut::memory_watch:
      return "the command uses more than --memory";
    case Cut::interrupted:
      return fmt::format("received SIG{}", sigabbrev_np(signal));
    case Cut::none:
      break;
  }
  return "the command has ended, but not all of its processes";
}

LeaderEnd leader_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) return Signaled{WTERMSIG(wait_status)};
  return Exited{WEXITSTATUS(wait_status)};
}

Level choose_level(const SuperviseOptions& options) {
  if (!pidfds_work()) {
    fail(ErrorKind::refused, "this kernel has no pidfds; supervising needs Linux 5.3 or later");
  }
  if (proc_folder().empty()) {
    fail(ErrorKind::refused,
         "/proc shows another PID namespace, and this user may not mount the right one; mount it "
         "with: mount -t proc proc /proc, or use unshare --mount-proc");
  }
  if (!options.level) return strongest_level();
  const std::string obstacle = process::obstacle(*options.level);
  if (obstacle.empty()) return *options.level;
  fail(ErrorKind::refused, "level {} does not work here: {}; leave --level out for {}",
       name(*options.level), obstacle, name(strongest_level()));
}

// One run, from the fork of its keeper to the removal of its groups.
class Supervisor {
 public:
  explicit Supervisor(const SuperviseOptions& options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  Ending run();

 private:
  void start();
  void write_down() const;
  void loop();
  int next_wait_ms(Clock::time_point now) const;
  void take_signals();
  void take_reports();
  void handle(const KeeperReport& report);
  void check_clock(Clock::time_point now);
  void check_tree(Clock::time_point now);
  void cut(Cut why);
  void order(KeeperOrder::Kind kind, int number = 0);
  void send_order();
  void check_children(Clock::time_point now);
  void check_keeper(Clock::time_point now);
  void check_beat(Clock::time_point now);
  bool keeper_is_needed() const;
  void give_keeper_up(const char* why);
  bool keeper_has_ended() const;
  void wait_for_keeper();
  void take_over();
  void finish();

  const SuperviseOptions& options_;
  const std::filesystem::path state_ = state_folder();
  const ProcessId self_ = ProcessId::of_this_process();
  const std::string run_ = name_run(self_);
  const GroupPlan groups_;
  SignalInbox signals_;
  const Fd child_signals_ = open_child_signals();
  OtherChildren others_;
  const TerminalState terminal_;
  CommandOutput output_;
  TreeSampler sampler_;
  Keeper keeper_;
  Tree tree_;
  pid_t leader_ = 0;
  std::optional<KeeperOrder> unsent_;
  bool leader_ended_ = false;
  bool ending_ordered_ = false;
  bool empty_ = false;
  bool wait_said_ = false;
  bool stuck_said_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point end_ordered_at_;
  double stopped_seconds_ = 0;
  Clock::time_point children_checked_at_;
  Clock::time_point keeper_first_stopped_at_;
  int keeper_stops_ = 0;
  std::optional<Clock::time_point> beat_asked_at_;  // and not answered yet
  int silent_looks_ = 0;
  const char* keeper_fault_ = "killed";
  bool keeps_record_ = false;
  Ending ending_;
};

Supervisor::Supervisor(const SuperviseOptions& options)
    : options_(options),
      groups_(plan_groups(Host::real(), run_, choose_level(options),
                          options.memory.limit_bytes || options.memory.high_bytes)),
      output_(options.log),
      sampler_({.group = {.version = groups_.memory_version, .folder = groups_.memory_folder},
                .limit_bytes = options.memory.limit_bytes,
                .enforced_by_kernel = options.memory.limit_bytes && !groups_.memory_folder.empty(),
                .idle_seconds = options.idle_seconds,
                .output_bytes = [this] { return output_.seen_bytes(); },
                .busy_elsewhere = options.busy_elsewhere}) {
  ending_.command = options.command;
  ending_.leader = Signaled{SIGKILL};  // the default if the keeper is killed before it reports
  ending_.run = run_;
}

// Also after an exception: closing the socket makes the keeper end the tree, and we wait for that.
Supervisor::~Supervisor() {
  keeper_.socket = Fd();
  wait_for_keeper();
}

Ending Supervisor::run() {
  start();
  loop();
  finish();
  return std::move(ending_);
}

void Supervisor::start() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (options_.memory.high_bytes &&
      (groups_.memory_folder.empty() || groups_.memory_version == memory::CgroupVersion::v1)) {
    options_.say("--memory-high has no effect here: it needs cgroup v2 with the memory controller");
  }
  const std::string obstacle = obstacle_to_records(state_);
  keeps_record_ = obstacle.empty();
  if (!keeps_record_) {
    options_.say(fmt::format(
        "cannot keep a record of this run, so `plimsoll orphans` may miss processes left over from "
        "it: {}; set XDG_STATE_HOME to a folder of your own",
        obstacle));
  }
  const MemoryGroup memory{.version = groups_.memory_version, .folder = groups_.memory_folder};
  keeper_ =
      start_keeper({.launch = {.command = options_.command,
                               .environment =
                                   [&] {
                                     auto changes = options_.environment;
                                     changes.push_back(fmt::format("{}={}", kRunVariable, run_));
                                     return environment_with(changes);
                                   }(),
                               .output_fd = output_.output_fd(),
                               .error_fd = output_.error_fd(),
                               .signal_mask = options_.signal_mask.value_or(signals_.mask_before()),
                               .child_signal_ignored = signals_.child_signal_was_ignored()},
                    .groups = groups_,
                    .run = run_,
                    .write_down = [this] { write_down(); },
                    .strike_out = [this] { remove_record(state_, run_); },
                    .grace_seconds = options_.grace_seconds,
                    .limit_memory = [&] { set_bounds(memory, options_.memory); },
                    .drain = [this] { output_.drain(); },
                    .drain_fd = output_.drain_fd()});
  tree_ = {.level = groups_.level, .group = groups_.tree_folder, .root = keeper_.pid, .init = 0};
  output_.begin_showing();
}

// Called by the keeper.
void Supervisor::write_down() const {
  if (!keeps_record_) return;
  std::error_code ignored;
  RunRecord record{
      .run = run_,
      .host = host_name(),
      .keeper = ProcessId::of_this_process(),
      .command = options_.command,
      .folder = std::filesystem::current_path(ignored).string(),
      .started = seconds_since_1970(),
      .level = std::string(name(groups_.level)),
      .groups = {},
      .log = options_.log ? std::filesystem::absolute(*options_.log, ignored).string() : ""};
  for (const auto& folder : {groups_.tree_folder, groups_.memory_folder}) {
    if (!folder.empty()) record.groups.push_back(folder);
  }
  write_record(state_, record);
}

void Supervisor::loop() {
  auto before = Clock::now();
  while (!empty_) {
    std::array<pollfd, 3> events = {{{.fd = keeper_.socket.get(), .events = POLLIN},
                                     {.fd = signals_.fd(), .events = POLLIN},
                                     {.fd = child_signals_.get(), .events = POLLIN}}};
    poll(events.data(), events.size(), next_wait_ms(before));
    if (events[1].revents != 0) take_signals();
    if (events[0].revents != 0) take_reports();
    const auto now = Clock::now();
    const double waited = seconds_between(before, now);
    if (waited > kStoppedBeyond) stopped_seconds_ += waited;
    before = now;
    if (empty_) break;
    check_clock(now);
    if (unsent_) send_order();
    if (events[2].revents != 0 || now >= children_checked_at_ + kLongestWait) check_children(now);
    if (!leader_ended_ && leader_ != 0 && now >= sampler_.next_sample()) check_tree(now);
  }
}

int Supervisor::next_wait_ms(Clock::time_point now) const {
  auto until = now + kLongestWait;
  if (leader_ != 0 && !leader_ended_) until = std::min(until, sampler_.next_sample());
  if (options_.timeout_seconds && !ending_ordered_) {
    const std::chrono::duration<double> left(*options_.timeout_seconds + stopped_seconds_);
    until = std::min(until, began_ + std::chrono::duration_cast<Clock::duration>(left));
  }
  if (ending_ordered_ && !wait_said_) until = std::min(until, end_ordered_at_ + kSayWaitAfter);
  return static_cast<int>(
      std::max<int64_t>(std::chrono::ceil<milliseconds>(until - now).count(), 0));
}

void Supervisor::take_signals() {
  while (const auto signal = signals_.next()) {
    switch (signal->number) {
      case SIGWINCH:
        output_.resize();
        break;
      case SIGTERM:
      case SIGHUP:
        if (ending_.cut == Cut::interrupted) {  // the second request: kill at once
          if (!options_.patient) order(KeeperOrder::Kind::kill);
          break;
        }
        ending_.interrupting_signal = signal->number;
        cut(Cut::interrupted);
        break;
      default:
        if (signal->from_terminal) {
          ending_.typed_interrupt |= signal->number == SIGINT;
          if (signal->number == SIGQUIT) ending_.handed_on_signal = SIGQUIT;
        } else {
          ending_.handed_on_signal = signal->number;
          order(KeeperOrder::Kind::signal_leader, signal->number);
        }
    }
  }
}

void Supervisor::take_reports() {
  for (;;) {
    KeeperReport report;
    const ssize_t count = recv(keeper_.socket.get(), &report, sizeof report, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count != sizeof report) {
      if (!empty_) take_over();
      return;
    }
    handle(report);
    if (empty_) return;
  }
}

void Supervisor::handle(const KeeperReport& report) {
  switch (report.kind) {
    case KeeperReport::Kind::refused:
      fail(ErrorKind::refused, "{}", report.text.data());
    case KeeperReport::Kind::started:
      leader_ = report.pid;
      tree_.init = report.init;
      break;
    case KeeperReport::Kind::not_started:
      ending_.leader = NotStarted{.error = report.number, .what = options_.command.front()};
      leader_ended_ = true;
      break;
    case KeeperReport::Kind::leader_ended:
      ending_.leader = leader_end(report.number);
      leader_ended_ = true;
      if (!ending_ordered_) end_ordered_at_ = Clock::now();
      ending_ordered_ = true;
      break;
    case KeeperReport::Kind::beat:
      beat_asked_at_.reset();
      silent_looks_ = 0;
      break;
    case KeeperReport::Kind::empty:
      ending_.leftovers_ended = report.leftovers;
      ending_.cpu_seconds = report.cpu_seconds;
      if (report.largest_resident_bytes > 0 && !ending_.memory.peak_bytes) {
        ending_.memory.peak_bytes = report.largest_resident_bytes;
      }
      empty_ = true;
      break;
  }
}

void Supervisor::check_clock(Clock::time_point now) {
  if (options_.timeout_seconds && !ending_ordered_ &&
      seconds_between(began_, now) - stopped_seconds_ >= *options_.timeout_seconds) {
    ending_.cut_after_seconds = *options_.timeout_seconds;
    cut(Cut::timeout);
  }
  if (ending_ordered_ && !wait_said_ && now >= end_ordered_at_ + kSayWaitAfter) {
    wait_said_ = true;
    options_.say(
        fmt::format("{}; waiting up to {} (--grace) for its processes to end, then they are killed",
                    describe(ending_.cut, ending_.interrupting_signal),
                    format_seconds(options_.grace_seconds)));
  }
  if (ending_ordered_ && !stuck_said_ &&
      seconds_between(end_ordered_at_, now) > options_.grace_seconds + kSayStuckAfter) {
    stuck_said_ = true;
    options_.say("killed, but these processes are still stuck in the kernel:\n" +
                 describe_stuck(tree_));
  }
}

void Supervisor::check_tree(Clock::time_point now) {
  const Cut why = sampler_.sample(tree_, now);
  if (why == Cut::none || ending_ordered_) return;
  if (why == Cut::idle) {
    ending_.cut_after_seconds = *options_.idle_seconds;
    ending_.hang_report = describe_stuck(tree_);
    const std::string text =
        fmt::format("no output, no CPU and no GPU use for {}; where its threads wait:\n{}",
                    format_seconds(*options_.idle_seconds), ending_.hang_report);
    options_.log ? output_.note("plimsoll: " + text) : options_.say(text);
  }
  cut(why);
}

void Supervisor::cut(Cut why) {
  if (ending_ordered_) return;
  ending_.cut = why;
  ending_ordered_ = true;
  end_ordered_at_ = Clock::now();
  order(KeeperOrder::Kind::end, why == Cut::interrupted ? ending_.interrupting_signal : SIGTERM);
}

void Supervisor::order(KeeperOrder::Kind kind, int number) {
  if (unsent_ && kind == KeeperOrder::Kind::signal_leader) return;  // an order to end is pending
  unsent_ = KeeperOrder{.kind = kind, .number = number};
  send_order();
}

// A stopped keeper reads nothing: the order waits here until the keeper continues.
void Supervisor::send_order() {
  const ssize_t count =
      send(keeper_.socket.get(), &*unsent_, sizeof *unsent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool no_room = count < 0 && errno == EAGAIN;
  if (!no_room || unsent_->kind == KeeperOrder::Kind::signal_leader) unsent_.reset();
}

// Whether its end of the socket has closed. The kernel closes it before it gives us the keeper's
// children.
bool Supervisor::keeper_has_ended() const {
  pollfd socket = {.fd = keeper_.socket.get(), .events = POLLRDHUP, .revents = 0};
  return poll(&socket, 1, 0) > 0;
}

void Supervisor::check_children(Clock::time_point now) {
  children_checked_at_ = now;
  read_child_signals(child_signals_);
  others_.look_beside(keeper_.pid, [this] { return !keeper_has_ended(); });
  if (keeper_has_ended()) return;
  check_keeper(now);
  check_beat(now);
}

// The command could stop its keeper, and then neither the time limit nor the end of the tree would
// work. So a stopped keeper is continued.
void Supervisor::check_keeper(Clock::time_point now) {
  const auto stat = read_stat(keeper_.pid);
  if (!stat || stat->state != 'T') return;
  if (keeper_stops_ == 0 || seconds_between(keeper_first_stopped_at_, now) > kStopsWithinSeconds) {
    keeper_first_stopped_at_ = now;
    keeper_stops_ = 0;
    options_.say("its keeper process was stopped; continuing it");
  }
  if (++keeper_stops_ > kMostStops) {
    give_keeper_up("stopped repeatedly");
  } else if (const auto keeper = ProcessRef::open(*stat)) {
    keeper->signal(SIGCONT);
  }
}

// To end the tree, or to report a command that has ended. A command that runs needs no keeper.
bool Supervisor::keeper_is_needed() const {
  if (ending_ordered_) return true;
  if (leader_ == 0 || leader_ended_) return false;
  const auto leader = read_stat(leader_);
  return !leader || !leader->alive();
}

// Counts looks, not seconds: if we were stopped ourselves, the time that passed says nothing.
void Supervisor::check_beat(Clock::time_point now) {
  if (!keeper_is_needed()) {
    beat_asked_at_.reset();
    silent_looks_ = 0;
    return;
  }
  if (beat_asked_at_ && seconds_between(*beat_asked_at_, now) < kSecondsOfALook) return;
  if (beat_asked_at_ && ++silent_looks_ >= kMostSilentLooks) {
    ending_.keeper_silent = true;
    give_keeper_up("not answering");
  }
  beat_asked_at_ = now;
  const KeeperOrder beat{.kind = KeeperOrder::Kind::beat};
  send(keeper_.socket.get(), &beat, sizeof beat, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// When it has ended, its socket closes, and take_over() follows.
void Supervisor::give_keeper_up(const char* why) {
  ending_.keeper_given_up = true;
  keeper_fault_ = why;
  kill(keeper_.pid, SIGKILL);  // safe: it is our child and not yet reaped, so the pid is its own
}

// It may be held by a debugger until now. Then it is killed, and stays a zombie of the debugger.
void Supervisor::wait_for_keeper() {
  for (int looks = 0; keeper_.pid > 0; ++looks) {
    const Fd keeper(static_cast<int>(syscall(SYS_pidfd_open, keeper_.pid, 0)));
    pollfd end = {.fd = keeper.get(), .events = POLLIN, .revents = 0};
    const bool ended = poll(&end, 1, static_cast<int>(kKeeperEnds.count())) > 0;
    int status = 0;
    const pid_t pid = waitpid(keeper_.pid, &status, WUNTRACED | WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0 || (pid > 0 && !WIFSTOPPED(status)) || (pid == 0 && ended)) break;
    if (pid > 0) kill(keeper_.pid, SIGCONT);
    if (looks >= kMostSilentLooks * kLongestWait / kKeeperEnds) kill(keeper_.pid, SIGKILL);
  }
  keeper_.pid = 0;
}

// The keeper was killed. We are a subreaper, so its children are now ours.
void Supervisor::take_over() {
  ending_.keeper_lost = true;
  options_.say(fmt::format("its keeper process was {}; ending the command", keeper_fault_));
  tree_.root = getpid();
  tree_.others = others_.all();
  TreeWatch watch(
      {.tree = tree_,
       .leader = leader_ended_ ? 0 : leader_,
       .grace_seconds = options_.grace_seconds,
       .report = [this](const KeeperReport& report) { handle(report); },
       .drain = [this] { output_.drain(); },
       .drain_fd = output_.drain_fd(),
       // A debugger may keep the keeper as a zombie: then we never are without children.
       .others = others_.possible() || ending_.keeper_given_up ? &others_ : nullptr});
  watch.run();
  keeper_.pid = 0;
}

void Supervisor::finish() {
  ending_.seconds = seconds_between(began_, Clock::now());
  ending_.level = name(groups_.level);
  sampler_.fill(ending_.memory);
  remove_group(groups_.tree_folder);
  remove_group(groups_.memory_folder);
  remove_record(state_, run_);
  keeper_.socket = Fd();
  wait_for_keeper();
  if (const uint64_t hidden = output_.finish_showing(); hidden > 0) {
    options_.say(fmt::format("nobody reads its output; the last {} were not shown, they are in {}",
                             format_bytes(hidden), options_.log->string()));
  }
  ending_.output_tail = output_.tail(kTailBytes);
  terminal_.restore();
}

}  // namespace

Ending run_supervised(const SuperviseOptions& options) { return Supervisor(options).run(); }

}  // namespace plimsoll::process
