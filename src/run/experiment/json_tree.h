// JSON as people wrote it: members in their order, and the line of each, so that a message can
// point at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/values.h"

namespace plimsoll::experiment {

struct JsonMember;

struct JsonNode {
  enum class Kind { null, boolean, number, text, list, object };
  Kind kind = Kind::null;
  size_t line = 0;  // from 1
  bool boolean = false;
  Value number;  // whole where it has no point and no exponent
  std::string text;
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;  // a key that stands twice is here twice

  bool is(Kind wanted) const { return kind == wanted; }
  // The last of that name, as every JSON reader takes it; nullptr where there is none.
  const JsonNode* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  size_t line = 0;
  JsonNode value;
};

// Throws Error{input} with `file` and the line; for a file beyond base/json.h's limits, an object
// of more than 1000 members and a whole number of more than 64 bits, too.
JsonNode parse_json(std::string_view text, const std::string& file);

std::string_view name(JsonNode::Kind kind);  // "a number"

}  // namespace plimsoll::experiment
