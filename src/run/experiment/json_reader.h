// Reads settings files: JSON that remembers the line of each member, read key by key, with all
// problems reported together.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/values.h"

namespace plimsoll::experiment {

struct Problem {
  bool is_error = true;
  std::string file;
  size_t line = 0;  // 0: the whole file
  std::string text;
};

// How to treat keys that have no meaning. A key near a known one is a typo.
enum class KeyPolicy {
  usual,    // a typo is an error; another unknown key is a warning
  lenient,  // all errors about keys become warnings
  strict,   // every unknown key is an error
};

// Problems of one cause: the same text in the same file.
struct ProblemGroup {
  bool is_error = true;
  std::string file;
  std::vector<size_t> lines;  // ascending; never empty
  std::string text;
};

// Collects all errors and warnings about a user's files, so that they can be printed together.
class Problems {
 public:
  explicit Problems(KeyPolicy keys = KeyPolicy::usual) : keys_(keys) {}

  void error(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = true, .file = file, .line = line, .text = std::move(text)});
  }
  void warning(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = false, .file = file, .line = line, .text = std::move(text)});
  }
  void key_error(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = keys_ != KeyPolicy::lenient,
                    .file = file,
                    .line = line,
                    .text = std::move(text)});
  }
  // For a key that has no meaning and is near none that has.
  void key_without_effect(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = keys_ == KeyPolicy::strict,
                    .file = file,
                    .line = line,
                    .text = std::move(text)});
  }
  void count_note() { ++notes_; }

  const std::vector<Problem>& all() const { return all_; }
  // Sorted by file and first line.
  std::vector<ProblemGroup> grouped() const;
  size_t notes() const { return notes_; }
  bool lenient() const { return keys_ == KeyPolicy::lenient; }
  size_t errors() const;

 private:
  KeyPolicy keys_;
  std::vector<Problem> all_;
  size_t notes_ = 0;
};

// "settings.json:14: error: unknown key mutat; did you mean mutate?"
std::string describe(const Problem& problem);
// "settings.json:14: warning: num_mutations is taken as runs_per_config (94 times: lines 14, 22,
// 30, ...)"
std::string describe(const ProblemGroup& group);

struct JsonMember;

// A JSON value. Members keep their order and line, so that a message can name the line.
struct JsonNode {
  enum class Kind { null, boolean, number, text, list, object };
  Kind kind = Kind::null;
  size_t line = 0;  // from 1
  bool boolean = false;
  Value number;  // whole if it has no point and no exponent
  std::string text;
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;  // a repeated key is here repeatedly

  bool is(Kind wanted) const { return kind == wanted; }
  // The last member of that name, as usual for JSON; nullptr if there is none.
  const JsonNode* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  size_t line = 0;
  JsonNode value;
};

// Throws Error{input}, which names `file` and the line, for invalid JSON. Also for a file beyond
// the limits of base/json.h, an object with more than 1000 members, and a whole number with more
// than 64 bits.
JsonNode parse_json(std::string_view text, const std::string& file);

std::string_view name(JsonNode::Kind kind);  // "a number"

// Whether both have the same content. Lines and the order of members do not matter.
bool same(const JsonNode& one, const JsonNode& other);

// Whether the key is a note for human readers: "comment", "estimated_hours", "_why".
bool is_note(std::string_view key);

// Reads one JSON object of a user's file, key by key. Every getter marks its key as known and
// reports a value of the wrong type. null is the same as a missing key. finish() reports the
// unknown keys: none is ignored silently.
class ObjectReader {
 public:
  ObjectReader(const JsonNode& node, std::string file, Problems& problems);

  const JsonNode* any(const std::string& key);  // nullptr if it is missing
  const JsonNode* object(const std::string& key) { return typed(key, JsonNode::Kind::object); }
  const JsonNode* list(const std::string& key) { return typed(key, JsonNode::Kind::list); }
  std::optional<std::string> text(const std::string& key);
  std::optional<bool> boolean(const std::string& key);
  std::optional<uint64_t> count(const std::string& key, uint64_t lowest);  // up to a million
  std::optional<double> number(const std::string& key);
  std::optional<double> seconds(const std::string& key);  // 90, "90s", "2h"
  std::optional<uint64_t> bytes(const std::string& key);  // "8G"; at least 1 MiB
  std::optional<std::vector<std::string>> texts(const std::string& key);

  // Reads a key by an old or wrong `spelling` of `present`, with a warning. If both are there,
  // `present` counts; it is an error if they differ.
  const JsonNode* former(const std::string& spelling, const std::string& present);
  // The same for a value of this kind; any other is an error.
  const JsonNode* former(const std::string& spelling, const std::string& present,
                         JsonNode::Kind kind);

  // The strings of a list, or the only one; `key` is for the message about anything else.
  std::vector<std::string> names_in(const JsonNode& node, const std::string& key);

  // Marks the key as known, but never suggests it; nullptr if it is missing.
  const JsonNode* quietly(const std::string& key);

  bool has(const std::string& key) const { return given(key) != nullptr; }
  size_t line_of(const std::string& key) const;
  void error(size_t line, std::string text) { problems_.error(file_, line, std::move(text)); }
  void warning(size_t line, std::string text) { problems_.warning(file_, line, std::move(text)); }
  const JsonNode& node() const { return node_; }
  const std::string& file() const { return file_; }
  Problems& problems() { return problems_; }

  // Reports all keys that no getter asked for. `where` names the object in the message.
  // `elsewhere` are keys that have a meaning only in another object, which `home` names.
  struct Elsewhere {
    std::vector<std::string> keys;
    std::string home;
  };
  void finish(const std::string& where, const Elsewhere& elsewhere = {});

 private:
  const JsonNode* given(const std::string& key) const;  // not null
  const JsonNode* typed(const std::string& key, JsonNode::Kind kind);

  const JsonNode& node_;
  std::string file_;
  Problems& problems_;
  std::set<std::string> known_;
  std::set<std::string> suggested_;  // known keys without old spellings
};

}  // namespace plimsoll::experiment
