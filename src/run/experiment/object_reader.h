// One JSON object of a user's file, read key by key. Whatever was not asked for when it ends is a
// note or an error: nothing is ignored silently.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/json_tree.h"
#include "experiment/problems.h"

namespace plimsoll::experiment {

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
