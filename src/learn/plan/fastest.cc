#include "plan/fastest.h"

#include <algorithm>

#include "recipe/recipe.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kAround = 4;  // from a quarter of the default to four times as much
constexpr double kAsFast = 0.98;
constexpr double kWorthIt = 0.95;  // change a setting only for at most 95 % of its time

bool faster(const Plan& plan, const Plan& than) {
  if (plan.fits != than.fits) return plan.fits;
  return plan.seconds_an_epoch < than.seconds_an_epoch;
}

bool worth_a_change(const Plan& plan, const Plan& from) {
  if (plan.fits != from.fits) return plan.fits;
  return plan.seconds_an_epoch < kWorthIt * from.seconds_an_epoch;
}

std::vector<unsigned> workers_to_try(const Question& question, const Freedom& freedom) {
  std::vector<unsigned> counts = {question.workers};
  if (!freedom.workers) return counts;
  for (unsigned count = 1; count < question.threads + 2; count *= 2) counts.push_back(count);
  counts.push_back(question.threads + 2);
  return counts;
}

// The first setting that is about as fast as the fastest.
Setting fastest_workers(Question asked, const std::vector<unsigned>& counts) {
  std::vector<Setting> settings;
  for (const unsigned workers : counts) {
    asked.workers = workers;
    settings.push_back({asked.recipe.batch_size, workers, make_plan(asked)});
  }
  const auto best =
      std::min_element(settings.begin(), settings.end(),
                       [](const Setting& a, const Setting& b) { return faster(a.plan, b.plan); });
  return *std::find_if(settings.begin(), settings.end(), [&](const Setting& setting) {
    return setting.plan.fits == best->plan.fits &&
           kAsFast * setting.plan.seconds_an_epoch <= best->plan.seconds_an_epoch;
  });
}

}  // namespace

std::vector<uint64_t> usual_batch_sizes(const Question& question) {
  const uint64_t usual = recipe::Recipe().batch_size;
  std::vector<uint64_t> sizes;
  for (uint64_t size = usual / kAround; size <= usual * kAround; size *= 2) {
    // Batches that already hold all training nodes do not become larger.
    if (sizes.empty() || size / 2 < question.store.train_nodes) sizes.push_back(size);
  }
  return sizes;
}

Fastest find_fastest(const Question& question, const Draws& draws, const Freedom& freedom) {
  const Setting own = {question.recipe.batch_size, question.workers, make_plan(question)};
  Fastest fastest{.best = own};
  std::vector<uint64_t> sizes = freedom.batch_sizes;
  if (sizes.empty()) sizes = {question.recipe.batch_size};
  for (const uint64_t size : sizes) {
    Question asked = question;
    asked.recipe.batch_size = size;
    asked.probe = expect_batch(draws, question.store, question.own_seeds(size));
    const Setting best_of_size = fastest_workers(asked, workers_to_try(question, freedom));
    if (!best_of_size.plan.fits) continue;
    fastest.others.push_back(best_of_size);
    if (faster(best_of_size.plan, fastest.best.plan)) fastest.best = best_of_size;
  }
  if (!worth_a_change(fastest.best.plan, own.plan)) fastest.best = own;
  return fastest;
}

}  // namespace plimsoll::plan
