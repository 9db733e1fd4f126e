#include "process/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
#include "base/error.h"
#include "base/host.h"
#include "base/units.h"
#include "memory/limit.h"
#include "process/command_output.h"
#include "process/keeper_watch.h"
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
constexpr size_t kTailBytes = size_t{64} << 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// What the command is told: a limit of a supervisor above us stays in force.
std::optional<uint64_t> limit_for_command(const MemoryBounds& bounds) {
  if (!bounds.limit_bytes) return std::nullopt;
  return std::min(*bounds.limit_bytes, memory::supervisor_limit().value_or(*bounds.limit_bytes));
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
  void check_children(Clock::time_point now);
  bool keeper_is_needed() const;
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
  KeeperWatch keeper_;
  Tree tree_;
  pid_t leader_ = 0;
  bool leader_ended_ = false;
  bool ending_ordered_ = false;
  bool empty_ = false;
  bool wait_said_ = false;
  bool stuck_said_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point end_ordered_at_;
  double stopped_seconds_ = 0;
  Clock::time_point children_checked_at_;
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
                .busy_elsewhere = options.busy_elsewhere}),
      keeper_(options.say) {
  ending_.command = options.command;
  ending_.leader = Signaled{SIGKILL};  // the default if the keeper is killed before it reports
  ending_.run = run_;
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
  keeper_.start({.launch = {.command = options_.command,
                            .environment =
                                [&] {
                                  auto changes = options_.environment;
                                  changes.push_back(fmt::format("{}={}", kRunVariable, run_));
                                  if (const auto limit = limit_for_command(options_.memory)) {
                                    changes.push_back(
                                        fmt::format("{}={}", memory::kLimitVariable, *limit));
                                  }
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
  tree_ = {.level = groups_.level, .group = groups_.tree_folder, .root = keeper_.pid(), .init = 0};
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
      .level = groups_.level,
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
    std::array<pollfd, 3> events = {{{.fd = keeper_.fd(), .events = POLLIN},
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
    keeper_.send_again();
    if (events[2].revents != 0 || now >= children_checked_at_ + KeeperWatch::kCheckInterval) {
      check_children(now);
    }
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
          if (!options_.patient) keeper_.order(KeeperOrder::Kind::kill);
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
          keeper_.order(KeeperOrder::Kind::signal_leader, signal->number);
        }
    }
  }
}

void Supervisor::take_reports() {
  for (;;) {
    KeeperReport report;
    const ssize_t count = recv(keeper_.fd(), &report, sizeof report, MSG_DONTWAIT);
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
      keeper_.answered();
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
  keeper_.order(KeeperOrder::Kind::end,
                why == Cut::interrupted ? ending_.interrupting_signal : SIGTERM);
}

void Supervisor::check_children(Clock::time_point now) {
  children_checked_at_ = now;
  read_child_signals(child_signals_);
  others_.look_beside(keeper_.pid(), [this] { return !keeper_.has_ended(); });
  if (!keeper_.has_ended()) keeper_.check(now, keeper_is_needed());
}

// To end the tree, or to report a command that has ended. A command that runs needs no keeper.
bool Supervisor::keeper_is_needed() const {
  if (ending_ordered_) return true;
  if (leader_ == 0 || leader_ended_) return false;
  const auto leader = read_stat(leader_);
  return !leader || !leader->alive();
}

// The keeper was killed. We are a subreaper, so its children are now ours.
void Supervisor::take_over() {
  ending_.keeper_lost = true;
  options_.say(
      fmt::format("its keeper process was {}; ending the command", keeper_.describe_loss()));
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
       .others = others_.possible() || keeper_.given_up() ? &others_ : nullptr});
  watch.run();
  keeper_.forget();
}

void Supervisor::finish() {
  ending_.seconds = seconds_between(began_, Clock::now());
  ending_.level = groups_.level;
  sampler_.fill(ending_.memory);
  remove_group(groups_.tree_folder);
  remove_group(groups_.memory_folder);
  remove_record(state_, run_);
  keeper_.end();
  ending_.keeper_given_up = keeper_.given_up();
  ending_.keeper_silent = keeper_.was_silent();
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
