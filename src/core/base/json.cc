#include "base/json.h"

#include <algorithm>

namespace plimsoll {
namespace {

struct JsonShape {
  uint64_t depth = 0;
  uint64_t values = 1;
};

// Counts brackets and commas outside of texts. If the text is not JSON, the counts are right for
// the part that a parser reads before it notices.
JsonShape shape_of(std::string_view text) {
  JsonShape shape;
  uint64_t open = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_text = !in_text;
    } else if (in_text) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      ++shape.values;
      shape.depth = std::max(shape.depth, ++open);
    } else if (c == ']' || c == '}') {
      open -= open > 0 ? 1 : 0;
    } else if (c == ',') {
      ++shape.values;
    }
  }
  return shape;
}

}  // namespace

void check_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    fail(limits.kind, "{} has {} bytes of JSON, {} is the most", name, text.size(), limits.bytes);
  }
  const JsonShape shape = shape_of(text);
  if (shape.depth > limits.depth) {
    fail(limits.kind, "{} nests lists and objects {} deep, {} is the most", name, shape.depth,
         limits.depth);
  }
  if (shape.values > limits.values) {
    fail(limits.kind, "{} holds about {} values, {} is the most", name, shape.values,
         limits.values);
  }
}

}  // namespace plimsoll
