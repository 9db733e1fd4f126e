#include "plan/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "recipe/recipe.h"

namespace plimsoll::plan {
namespace {

constexpr uint32_t kLargestNumber = 32;  // the first fan-out to try instead of all neighbours
constexpr uint64_t kLeastHidden = 16;

// One option to lower: its values, from large to small, and the questions with these values.
struct Lever {
  std::vector<std::string> options;
  std::vector<Question> questions;

  void add(std::string option, Question question) {
    options.push_back(std::move(option));
    questions.push_back(std::move(question));
  }
};

Lever batch_sizes(const Question& question, const Draws& draws) {
  Lever lever;
  for (uint64_t size = question.probe.batch.seeds; size > 1;) {
    size = (size + 1) / 2;
    Question smaller = question;
    smaller.recipe.batch_size = size * question.ranks;
    smaller.probe = expect_batch(draws, question.store, size);
    std::string option = fmt::format("--batch-size {}", smaller.recipe.batch_size);
    lever.add(std::move(option), std::move(smaller));
  }
  return lever;
}

Lever fanouts(const Question& question, const std::vector<FanoutDraws>& smaller) {
  Lever lever;
  if (question.recipe.model == recipe::ModelKind::mlp) return lever;
  for (const FanoutDraws& one : smaller) {
    Question asked = question;
    asked.recipe.fanout = one.fanout;
    asked.probe =
        expect_batch(one.draws, question.store, question.own_seeds(question.recipe.batch_size));
    lever.add(fmt::format("--fanout {}", recipe::format_fanout(one.fanout)), std::move(asked));
  }
  return lever;
}

Lever hidden(const Question& question) {
  Lever lever;
  const bool gat = question.recipe.model == recipe::ModelKind::gat;
  const uint64_t step = gat ? question.recipe.heads : 1;  // must be a multiple of the heads
  for (uint64_t columns = question.recipe.hidden / 2 / step * step;
       columns >= std::max(kLeastHidden, step); columns = columns / 2 / step * step) {
    Question smaller = question;
    smaller.recipe.hidden = columns;
    lever.add(fmt::format("--hidden {}", columns), std::move(smaller));
  }
  return lever;
}

Lever workers(const Question& question) {
  Lever lever;
  for (unsigned count = question.workers; count > 1;) {
    count /= 2;
    Question fewer = question;
    fewer.workers = count;
    lever.add(fmt::format("--workers {}", count), std::move(fewer));
  }
  return lever;
}

std::optional<Remedy> remedy_of(const Lever& lever, const Question& question) {
  std::optional<Remedy> found;
  uint64_t least = minimum_bytes(question);
  for (size_t i = 0; i < lever.questions.size(); ++i) {
    const uint64_t minimum = minimum_bytes(lever.questions[i]);
    if (minimum >= least) continue;
    least = minimum;
    found = {lever.options[i], minimum, minimum <= question.limit_bytes};
    if (found->enough) break;
  }
  return found;
}

}  // namespace

std::vector<std::vector<uint32_t>> smaller_fanouts(const std::vector<uint32_t>& fanout) {
  std::vector<std::vector<uint32_t>> all;
  std::vector<uint32_t> next = fanout;
  while (std::any_of(next.begin(), next.end(), [](uint32_t count) { return count > 1; })) {
    for (uint32_t& count : next) {
      count = count > 2 * kLargestNumber ? kLargestNumber : (count + 1) / 2;
    }
    all.push_back(next);
  }
  return all;
}

std::vector<Remedy> find_remedies(const Question& question, const Draws& draws,
                                  const std::vector<FanoutDraws>& smaller) {
  std::vector<Remedy> remedies;
  Question least = question;
  std::string options;
  const Draws* least_draws = &draws;
  for (const Lever& lever : {batch_sizes(question, draws), fanouts(question, smaller),
                             hidden(question), workers(question)}) {
    const auto remedy = remedy_of(lever, question);
    if (!remedy) continue;
    remedies.push_back(*remedy);
    if (remedy->enough) continue;
    const Question& smallest = lever.questions.back();
    least.recipe.hidden = std::min(least.recipe.hidden, smallest.recipe.hidden);
    least.recipe.batch_size = std::min(least.recipe.batch_size, smallest.recipe.batch_size);
    least.workers = std::min(least.workers, smallest.workers);
    if (smallest.recipe.fanout != question.recipe.fanout) {
      least.recipe.fanout = smallest.recipe.fanout;
      least_draws = &smaller.back().draws;
    }
    options += (options.empty() ? "" : " ") + lever.options.back();
  }
  const bool some_enough = std::any_of(remedies.begin(), remedies.end(),
                                       [](const Remedy& remedy) { return remedy.enough; });
  if (some_enough || remedies.size() < 2) return remedies;
  least.probe =
      expect_batch(*least_draws, question.store, least.own_seeds(least.recipe.batch_size));
  const uint64_t minimum = minimum_bytes(least);
  remedies.push_back({options, minimum, minimum <= question.limit_bytes});
  return remedies;
}

}  // namespace plimsoll::plan
