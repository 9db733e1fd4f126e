// results.json and diary.json in the folder of a training may hold anything.
#include "launch/training_record.h"
#include "only_errors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  const std::string_view text = text_of_input(data, size);
  only_errors([&] { launch::parse_training(text, "run"); });
  only_errors([&] { launch::parse_diary(text, "run"); });
  return 0;
}
