// Settings files: JSON with the line of each member, read key by key, with all problems listed at
// once.
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

// Everything that is wrong or odd about a user's files, collected, so that all of it is said at
// once.

struct Problem {
  bool is_error = true;
  std::string file;
  size_t line = 0;  // 0: of the whole file
  std::string text;
};

class Problems {
 public:
  // `lenient`: errors about keys become warnings.
  explicit Problems(bool lenient = false) : lenient_(lenient) {}

  void error(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = true, .file = file, .line = line, .text = std::move(text)});
  }
  void warning(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = false, .file = file, .line = line, .text = std::move(text)});
  }
  void key_error(const std::string& file, size_t line, std::string text) {
    all_.push_back({.is_error = !lenient_, .file = file, .line = line, .text = std::move(text)});
  }
  void count_note() { ++notes_; }

  const std::vector<Problem>& all() const { return all_; }
  // File by file, from the top.
  std::vector<Problem> in_order() const;
  size_t notes() const { return notes_; }
  bool lenient() const { return lenient_; }
  size_t errors() const;

 private:
  bool lenient_;
  std::vector<Problem> all_;
  size_t notes_ = 0;
};

// "settings.json:14: error: unknown key mutat; did you mean mutate?"
std::string describe(const Problem& problem);

// JSON as people wrote it: members in their order, and the line of each, so that a message can
// point at it.

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

// One JSON object of a user's file, read key by key. Whatever was not asked for when it ends is a
// note or an error: nothing is ignored silently.

// Keys that people use to write something down for people: "comment", "estimated_hours", "_why".
bool is_note(std::string_view key);

// Every getter remembers its key as known, and reports a value of another type.
class ObjectReader {
 public:
  ObjectReader(const JsonNode& node, std::string file, Problems& problems);

  const JsonNode* any(const std::string& key);  // nullptr where it is missing
  const JsonNode* object(const std::string& key) { return typed(key, JsonNode::Kind::object); }
  const JsonNode* list(const std::string& key) { return typed(key, JsonNode::Kind::list); }
  std::optional<std::string> text(const std::string& key);
  std::optional<bool> boolean(const std::string& key);
  std::optional<uint64_t> count(const std::string& key, uint64_t lowest);  // up to a million
  std::optional<double> number(const std::string& key);
  std::optional<double> seconds(const std::string& key);  // 90, "90s", "2h"
  std::optional<uint64_t> bytes(const std::string& key);  // 4096, "8G"
  std::optional<std::vector<std::string>> texts(const std::string& key);

  // A key of a former or mistaken spelling, taken as `present`: warns with the present one. Both
  // together are an error, and the present one counts.
  const JsonNode* former(const std::string& spelling, const std::string& present);

  bool has(const std::string& key) const { return node_.find(key) != nullptr; }
  size_t line_of(const std::string& key) const;
  void error(size_t line, std::string text) { problems_.error(file_, line, std::move(text)); }
  void warning(size_t line, std::string text) { problems_.warning(file_, line, std::move(text)); }
  const JsonNode& node() const { return node_; }
  const std::string& file() const { return file_; }
  Problems& problems() { return problems_; }

  // Reports what was not asked for. `where` names the object in the message.
  void finish(const std::string& where);

 private:
  const JsonNode* typed(const std::string& key, JsonNode::Kind kind);

  const JsonNode& node_;
  std::string file_;
  Problems& problems_;
  std::set<std::string> known_;
  std::set<std::string> suggested_;  // known, and the present spelling
};

}  // namespace plimsoll::experiment
