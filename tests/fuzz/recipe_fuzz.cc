// The recipe in a checkpoint may be any text; one that is taken reads back as the same.
#include <string>

#include "only_errors.h"
#include "recipe/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  only_errors([&] {
    const recipe::Recipe made = recipe::parse(text_of_input(data, size), "recipe");
    if (!(recipe::parse(to_json(made).dump(), "recipe") == made)) __builtin_trap();
  });
  return 0;
}
