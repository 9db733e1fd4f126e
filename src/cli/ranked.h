// What commands do as one of several ranks: agree, end together, and speak with one voice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/running.h"
#include "ranks/group.h"
#include "recipe/recipe.h"

namespace plimsoll::cli {

// Throws Error{usage} if ranks would learn something else than one process.
void check_for_ranks(const recipe::Recipe& recipe, unsigned ranks);

// --ranks: starts this command as so many ranks and waits for them. Throws ExitWith at their end.
[[noreturn]] void launch_ranks(const std::string& command, unsigned ranks);

// Meets the other ranks. Ranks other than the first become silent, and those of a host divide its
// CPUs unless --threads was given.
std::unique_ptr<ranks::Group> join(const CLI::App& command, RunningOptions& options,
                                   const ranks::RankPlace& place);

// "4 ranks on this host, from --ranks"; with several hosts how many are on each.
std::string describe_ranks(const ranks::Group& group);

// Runs `step` on every rank. If it throws an Error on some, all throw that of the first of them.
void together(ranks::Group& group, const std::function<void()>& step);

// The numbers of all ranks.
std::vector<uint64_t> share_number(ranks::Group& group, uint64_t mine);

// Runs `work`; if it throws, tells the other ranks. Returns what it returns. Of several ranks that
// fail, one prints; the others throw ExitWith. `remedy` says what to do after a rank was lost.
int end_together(ranks::Group& group, const std::function<std::string()>& remedy,
                 const std::function<int()>& work);

}  // namespace plimsoll::cli
