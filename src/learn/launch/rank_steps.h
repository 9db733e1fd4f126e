// The steps of a command that runs as one of several ranks: connect, agree on the plan, end
// together, and print each message once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/running.h"
#include "ranks/group.h"
#include "recipe/recipe.h"

namespace plimsoll::launch {

// Throws Error{usage} if ranks would learn something else than one process.
void check_for_ranks(const recipe::Recipe& recipe, unsigned ranks);

// --ranks: starts this command as so many ranks and waits for them. Throws ExitWith at their end.
[[noreturn]] void launch_ranks(const std::string& command, unsigned ranks);

// Meets the other ranks. Ranks other than the first become silent, and those of a host divide its
// CPUs unless --threads was given.
std::unique_ptr<ranks::Group> join(RunningOptions& options, const ranks::RankPlace& place);

// "4 ranks on this host, from --ranks"; with several hosts how many are on each.
std::string describe_ranks(const ranks::Group& group);

// Runs `step` on every rank. If it throws an Error on some, all throw that of the first of them.
void together(ranks::Group& group, const std::function<void()>& step);

// Makes the plan of every rank. The first of a host measures the machine if that is necessary, and
// the others find its figures in the cache. `limit_bytes` becomes that of the host's first rank.
plan::Plan plan_together(ranks::Group& group, uint64_t& limit_bytes,
                         const std::function<plan::Plan()>& make_plan);

// Runs `work`; if it throws, tells the other ranks. Returns what it returns. Of several ranks that
// fail, one prints; the others throw ExitWith. `remedy` says what to do after a rank was lost.
int end_together(ranks::Group& group, const std::function<std::string()>& remedy,
                 const std::function<int()>& work);

}  // namespace plimsoll::launch
