// meta.json may hold anything: parse_meta returns a Meta or throws Error, and what it returns can
// be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/meta.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  graph::Meta meta;
  try {
    meta = graph::parse_meta({reinterpret_cast<const char*>(data), size}, "meta.json");
  } catch (const Error&) {
    return 0;
  }
  const std::string text = graph::to_text(meta);
  if (graph::to_text(graph::parse_meta(text, "meta.json")) != text) std::abort();
  return 0;
}
