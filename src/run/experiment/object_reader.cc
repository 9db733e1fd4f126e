#include "experiment/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/units.h"

namespace plimsoll::experiment {
namespace {

using Kind = JsonNode::Kind;

constexpr std::array<std::string_view, 11> kNotes = {
    "comment",       "note",  "description", "version",   "created",      "updated",
    "creation_date", "notes", "purpose",     "rationale", "experiment_id"};
constexpr std::array<std::string_view, 4> kNotePrefixes = {"_", "estimated_", "expected_",
                                                           "target_"};
constexpr std::array<std::string_view, 4> kNoteEndings = {"_note", "_status", "_info", "_summary"};
constexpr uint64_t kLargestCount = 1'000'000;

}  // namespace

bool is_note(std::string_view key) {
  const auto begins = [&](std::string_view with) { return key.starts_with(with); };
  const auto ends = [&](std::string_view with) { return key.ends_with(with); };
  return std::find(kNotes.begin(), kNotes.end(), key) != kNotes.end() ||
         std::any_of(kNotePrefixes.begin(), kNotePrefixes.end(), begins) ||
         std::any_of(kNoteEndings.begin(), kNoteEndings.end(), ends);
}

ObjectReader::ObjectReader(const JsonNode& node, std::string file, Problems& problems)
    : node_(node), file_(std::move(file)), problems_(problems) {
  std::set<std::string_view> seen;
  for (const JsonMember& member : node.members) {
    if (!seen.insert(member.key).second && !is_note(member.key)) {
      problems_.key_error(file_, member.line,
                          fmt::format("{} stands twice; the last one would count", member.key));
    }
  }
}

const JsonNode* ObjectReader::any(const std::string& key) {
  known_.insert(key);
  suggested_.insert(key);
  return node_.find(key);
}

const JsonNode* ObjectReader::typed(const std::string& key, Kind kind) {
  const JsonNode* value = any(key);
  if (value == nullptr || value->is(kind)) return value;
  error(value->line, fmt::format("{} is {}; it must be {}", key, name(value->kind), name(kind)));
  return nullptr;
}

std::optional<std::string> ObjectReader::text(const std::string& key) {
  const JsonNode* value = typed(key, Kind::text);
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

std::optional<bool> ObjectReader::boolean(const std::string& key) {
  const JsonNode* value = typed(key, Kind::boolean);
  return value == nullptr ? std::nullopt : std::optional(value->boolean);
}

std::optional<double> ObjectReader::number(const std::string& key) {
  const JsonNode* value = typed(key, Kind::number);
  return value == nullptr ? std::nullopt : std::optional(value->number.number);
}

std::optional<uint64_t> ObjectReader::count(const std::string& key, uint64_t lowest) {
  const JsonNode* value = typed(key, Kind::number);
  if (value == nullptr) return std::nullopt;
  const auto whole = whole_of(value->number);
  if (whole && *whole >= lowest && *whole <= kLargestCount) return static_cast<uint64_t>(*whole);
  error(value->line, fmt::format("{} is {}; it must be a whole number from {} to {}", key,
                                 text_of(value->number), lowest, kLargestCount));
  return std::nullopt;
}

std::optional<double> ObjectReader::seconds(const std::string& key) {
  const JsonNode* value = any(key);
  if (value == nullptr || value->is(Kind::null)) return std::nullopt;
  try {
    if (value->is(Kind::number) && value->number.number > 0) return value->number.number;
    if (value->is(Kind::text)) return parse_seconds(value->text);
  } catch (const Error& problem) {
    error(value->line, fmt::format("{}: {}", key, problem.what()));
    return std::nullopt;
  }
  error(value->line, fmt::format("{} must be a time: seconds, or a text like \"2h\"", key));
  return std::nullopt;
}

std::optional<uint64_t> ObjectReader::bytes(const std::string& key) {
  const JsonNode* value = any(key);
  if (value == nullptr || value->is(Kind::null)) return std::nullopt;
  try {
    if (value->is(Kind::number) && value->number.whole && value->number.number > 0) {
      return static_cast<uint64_t>(*whole_of(value->number));
    }
    if (value->is(Kind::text)) return parse_bytes(value->text);
  } catch (const Error& problem) {
    error(value->line, fmt::format("{}: {}", key, problem.what()));
    return std::nullopt;
  }
  error(value->line, fmt::format("{} must be a size: bytes, or a text like \"8G\"", key));
  return std::nullopt;
}

std::optional<std::vector<std::string>> ObjectReader::texts(const std::string& key) {
  const JsonNode* value = list(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const JsonNode& item : value->items) {
    if (item.is(Kind::text)) {
      words.push_back(item.text);
    } else {
      error(item.line, fmt::format("{} holds {}; it must hold texts", key, name(item.kind)));
    }
  }
  return words;
}

const JsonNode* ObjectReader::former(const std::string& spelling, const std::string& present) {
  known_.insert(spelling);
  const JsonNode* value = node_.find(spelling);
  if (value == nullptr) return nullptr;
  if (has(present)) {
    problems_.key_error(
        file_, line_of(spelling),
        fmt::format("{} and {} mean the same, and both are here; {}", spelling, present,
                    problems_.lenient() ? present + " is taken" : "take out " + spelling));
    return nullptr;
  }
  warning(line_of(spelling), fmt::format("{} is taken as {}", spelling, present));
  return value;
}

size_t ObjectReader::line_of(const std::string& key) const {
  for (const JsonMember& member : node_.members) {
    if (member.key == key) return member.line;
  }
  return node_.line;
}

void ObjectReader::finish(const std::string& where) {
  const std::vector<std::string> candidates(suggested_.begin(), suggested_.end());
  for (const JsonMember& member : node_.members) {
    if (known_.contains(member.key)) continue;
    if (is_note(member.key)) {
      problems_.count_note();
      continue;
    }
    const auto meant = nearest(member.key, candidates);
    problems_.key_error(file_, member.line,
                        fmt::format("unknown key {} in {}{}", member.key, where,
                                    meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }
}

}  // namespace plimsoll::experiment
