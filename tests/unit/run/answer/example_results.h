// Small results that the tests of answers look at.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "answer/configuration.h"
#include "base/error.h"

namespace plimsoll::answer {

// What one run found.
struct Run {
  double rate = 0.1;
  double seed = 1;
  double loss = 1;
  double joules = 100;
  std::string model = "good";
};

inline Outcome outcome(const Run& run) {
  Outcome made;
  made.experiment.training = {.repository = "toy", .model = run.model};
  auto& last = made.result.last;
  last.values.set("rate", {.number = run.rate});
  last.values.set("epochs", {.number = 3, .whole = true});
  last.values.set("seed", {.number = run.seed, .whole = true});
  last.metrics["loss"] = {.number = run.loss};
  last.cause = experiment::Cause::success;
  last.seconds = 2;
  energy::EnergyReport report;
  report.cpu.total = {.joules = run.joules, .coverage = 1, .quality = energy::Quality::exclusive};
  report.all_gpus = energy::unavailable("there is no NVIDIA driver");
  last.energy = std::make_shared<energy::EnergyReport>(report);
  made.result.success = true;
  return made;
}

inline Outcome failed(const Run& run, experiment::Cause cause) {
  Outcome made = outcome(run);
  made.result.success = false;
  made.result.last.cause = cause;
  return made;
}

inline experiment::Catalog catalog() {
  experiment::Catalog all;
  all.repositories.push_back({.name = "toy"});
  all.repositories[0].hyperparameters = {{.name = "rate"}, {.name = "epochs"}, {.name = "seed"}};
  all.repositories[0].hyperparameters[2].nuisance = true;
  all.repositories[0].metrics = {{.name = "loss"}};
  return all;
}

inline Configurations example() {
  std::vector<Outcome> all;
  for (const double loss : {0.50, 0.52, 0.51, 0.49, 0.53}) {
    all.push_back(outcome({.rate = 0.1, .seed = loss * 100, .loss = loss, .joules = 1000 * loss}));
  }
  for (const double loss : {0.41, 0.42, 0.40, 0.43}) {
    all.push_back(outcome({.rate = 0.01, .seed = loss * 100, .loss = loss, .joules = 900}));
  }
  all.push_back(failed({.rate = 0.01}, experiment::Cause::timed_out));
  return group(all, catalog(), {});
}

// The message that an Error{usage} has.
template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

}  // namespace plimsoll::answer
