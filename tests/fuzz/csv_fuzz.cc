// Lines and fields of csv, read as everything they can be read as: whatever the bytes, only Error
// may come out.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "formats/csv.h"

namespace {

using plimsoll::formats::CsvLine;
using plimsoll::formats::CsvReader;

template <typename Action>
void expect_only_input_errors(Action action) {
  try {
    action();
  } catch (const plimsoll::Error& error) {
    if (error.kind() != plimsoll::ErrorKind::input) __builtin_trap();
  }
}

void parse_every_way(const CsvLine& line) {
  std::vector<float> features(plimsoll::formats::count_fields(line.text));
  std::array<uint32_t, 2> ids = {};
  expect_only_input_errors([&] { plimsoll::formats::parse_features("fuzz.csv", line, features); });
  expect_only_input_errors([&] { plimsoll::formats::parse_ids("fuzz.csv", line, ids, 1000); });
  expect_only_input_errors([&] { plimsoll::formats::parse_label("fuzz.csv", line); });
  expect_only_input_errors([&] { plimsoll::formats::parse_count("fuzz.csv", line); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  expect_only_input_errors([&] {
    CsvReader reader(plimsoll::formats::open_memory(bytes, "fuzz.csv"));
    while (const auto line = reader.next()) parse_every_way(*line);
  });
  return 0;
}
