// What was written down and is read again: rows of the journal, the idle baseline, records of runs.
// A row that is taken is written as the same.
#include <string>

#include "energy/baseline.h"
#include "experiment/batch.h"
#include "experiment/machine.h"
#include "experiment/outputs.h"
#include "experiment/record.h"
#include "experiment/stop_rule.h"
#include "only_errors.h"
#include "process/registry.h"

namespace {

template <typename Read>
void expect_same_again(const std::string& text, Read read) {
  plimsoll::only_errors([&] {
    const std::string written = to_text(read(text));
    if (to_text(read(written)) != written) __builtin_trap();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  using namespace plimsoll::experiment;
  const std::string text(text_of_input(data, size));
  expect_same_again(text, experiment_of);
  expect_same_again(text, attempt_of);
  expect_same_again(text, result_of);
  expect_same_again(text, parse_texts);
  only_errors([&] {
    const ExperimentResult result = result_of(text);
    SummaryTable summary({}, {});
    summary.set({}, result);
    summary.text();
    experiment_json({}, result, {result.last});
  });
  if (const auto report = report_of(text)) {
    const std::string written = to_text(*report);
    if (to_text(report_of(written).value()) != written) __builtin_trap();
  }
  const std::string calm = to_text(calm_from(text));
  if (to_text(calm_from(calm)) != calm) __builtin_trap();
  only_errors([&] { describe(energy::baseline_from(text, "idle_baseline.json")); });
  only_errors([&] { process::record_from(text, "run.json", {}); });
  return 0;
}
