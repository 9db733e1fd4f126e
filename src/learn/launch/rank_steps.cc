#include "launch/rank_steps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <ratio>
#include <set>

#include "base/child.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "launch/train_module.h"
#include "ranks/launcher.h"

namespace plimsoll::launch {
namespace {

// An Error as text for other ranks, "4\nthe message", and empty for none.
struct Refusal {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};
std::string to_text(const std::optional<Refusal>& refusal) {
  if (!refusal) return "";
  return fmt::format("{}\n{}", static_cast<int>(refusal->kind), refusal->message);
}
Refusal parse_refusal(const std::string& text) {
  return {static_cast<ErrorKind>(leading_number(text).value_or(0)),
          text.substr(text.find('\n') + 1)};
}

// The numbers of all ranks.
std::vector<uint64_t> share_number(ranks::Group& group, uint64_t mine) {
  std::vector<uint64_t> numbers;
  for (const std::string& text : group.exchange(fmt::to_string(mine))) {
    numbers.push_back(leading_number(text).value_or(0));
  }
  return numbers;
}

ranks::BeatLimits limits_of(const RunningOptions& options) {
  ranks::BeatLimits limits;
  if (options.rank_timeout_minutes) {
    const std::chrono::duration<double, std::ratio<60>> minutes(*options.rank_timeout_minutes);
    limits.no_progress = std::chrono::duration_cast<std::chrono::milliseconds>(minutes);
    limits.standstill = limits.no_progress;
  }
  return limits;
}

std::atomic<bool> has_said_why = false;  // a rank is lost

// For ranks::GroupOptions. Plain system calls: the other threads may hold any lock.
void end_hanging_process(const std::string& why, bool speaks) {
  if (speaks && !has_said_why.exchange(true)) {
    const std::string text =
        "plimsoll: " + why +
        "\nAll ranks end. This one hangs as well, and ends without another checkpoint; continue "
        "with --resume.\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  ::_exit(exit_code(ErrorKind::lost));
}

}  // namespace

void check_for_ranks(const recipe::Recipe& recipe, unsigned ranks) {
  if (ranks == 1) return;
  if (recipe.batch_norm) {
    fail(
        ErrorKind::usage,
        "--batch-norm does not work with {} ranks: its averages are over all nodes of a batch, and "
        "a rank sees only its own; train in one process, or without batch norm",
        ranks);
  }
  if (recipe.model == recipe::ModelKind::gcn && recipe.norm == recipe::Norm::sampled) {
    fail(ErrorKind::usage,
         "--norm sampled does not work with {} ranks: it counts edges in the whole batch, and a "
         "rank sees only its own part; use --norm full",
         ranks);
  }
  if (recipe.batch_size < ranks) {
    fail(ErrorKind::usage, "--batch-size {}: {} ranks need a seed each; raise it, or lower --ranks",
         recipe.batch_size, ranks);
  }
}

void launch_ranks(const std::string& command, unsigned ranks) {
  std::fflush(stdout);
  const ranks::LaunchEnd end = ranks::launch({.command = own_words(), .ranks = ranks});
  const std::string killed = describe_killed(end);
  if (!killed.empty()) std::fputs(("plimsoll " + command + ": " + killed + "\n").c_str(), stderr);
  throw ExitWith{exit_code_of(end, exit_code(ErrorKind::lost))};
}

std::unique_ptr<ranks::Group> join(RunningOptions& options, const ranks::RankPlace& place) {
  if (place.rank > 0) {
    options.run.quiet = true;
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nowhere) ::dup2(nowhere.get(), STDOUT_FILENO);
  }
  if (place.source == ranks::RankSource::launcher) {
    ranks::follow_launcher(Host::real().variable(ranks::kLauncherVariable).value_or(""));
  }
  std::unique_ptr<ranks::Group> group;
  try {
    group = load_train_module().join(place, {limits_of(options), end_hanging_process});
  } catch (const Interrupted& interrupted) {
    // The launcher says why, or rank 0 does.
    if (place.rank > 0 || place.source == ranks::RankSource::launcher) {
      throw ExitWith{128 + interrupted.signal_number()};
    }
    throw;
  } catch (const Error& error) {
    const bool said = place.rank > 0 && place.source == ranks::RankSource::launcher;
    if (said && error.kind() == ErrorKind::lost) throw ExitWith{exit_code(error.kind())};
    throw;
  }
  divide_threads(options, static_cast<unsigned>(group->host_ranks().size()));
  return group;
}

std::string describe_ranks(const ranks::Group& group) {
  std::set<std::string> machines;
  for (const ranks::RankProcess& process : group.processes()) machines.insert(process.machine);
  const std::string text = describe(group.place());
  return machines.size() == 1 ? text
                              : text + fmt::format("; on {}", counted(machines.size(), "host"));
}

void together(ranks::Group& group, const std::function<void()>& step) {
  std::optional<Refusal> refusal;
  try {
    step();
  } catch (const Error& error) {
    refusal = {error.kind(), error.what()};
  }
  const auto all = group.exchange(to_text(refusal));
  for (unsigned rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    const Refusal first = parse_refusal(all[rank]);
    group.leave();  // all know why
    throw Error(first.kind,
                rank == 0 ? first.message : rank_name(group, rank) + ": " + first.message);
  }
}

plan::Plan plan_together(ranks::Group& group, uint64_t& limit_bytes,
                         const std::function<plan::Plan()>& make_plan) {
  limit_bytes = share_number(group, limit_bytes)[group.host_ranks().front()];
  plan::Plan plan;
  for (const bool leaders : {true, false}) {
    together(group, [&] {
      if (group.leads_host() == leaders) plan = make_plan();
    });
  }
  return plan;
}

int end_together(ranks::Group& group, const std::function<std::string()>& remedy,
                 const std::function<int()>& work) {
  const auto end_as = [&](int code) {
    if (!group.speaks()) throw ExitWith{code};
  };
  try {
    return work();
  } catch (const Interrupted& interrupted) {
    group.give_up(fmt::format("it was ended by signal {}", interrupted.signal_number()));
    end_as(128 + interrupted.signal_number());
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::lost) {
      end_as(exit_code(error.kind()));
      has_said_why = true;
      fail(ErrorKind::lost, "{}\nAll ranks end; {}", error.what(), remedy());
    }
    group.give_up(error.what());
    end_as(exit_code(error.kind()));
    throw;
  } catch (const std::exception& error) {
    group.give_up(error.what());
    throw;
  }
}

}  // namespace plimsoll::launch
