// Logs, the kernel's log and tables of earlier batches: any bytes.
#include <string>

#include "base/print.h"
#include "base/text_file.h"
#include "diagnosis/circumstances.h"
#include "diagnosis/verdict.h"
#include "experiment/history.h"
#include "experiment/metrics.h"
#include "experiment/progress.h"
#include "only_errors.h"

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void expect_printable(const std::string& text) {
  for (const char c : text) {
    if (is_control(c)) __builtin_trap();
  }
  if (plimsoll::valid_utf8(text) != text) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  const std::string_view text = text_of_input(data, size);
  static experiment::LogReader reader(
      {{.name = "loss", .pattern = "loss: ([0-9.]+)"}, {.name = "any", .pattern = "(.*)"}},
      {"done", "^x*$"});
  only_errors([&] {
    experiment::read_lines(text, reader);
    if (const auto verdict = diagnosis::judge_log(text)) describe(*verdict);
    diagnosis::parse_kernel_log(text);
    experiment::Problems problems;
    experiment::read_history(text, "summary.csv", problems);
  });
  expect_printable(printable_line(text));
  expect_printable(experiment::last_line_of(text));
  return 0;
}
