#include "experiment/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/units.h"

namespace plimsoll::experiment {

size_t Problems::errors() const {
  return static_cast<size_t>(std::count_if(
      all_.begin(), all_.end(), [](const Problem& problem) { return problem.is_error; }));
}

std::vector<ProblemGroup> Problems::grouped() const {
  std::vector<Problem> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  std::vector<ProblemGroup> groups;
  std::map<std::tuple<std::string, std::string, bool>, size_t> known;
  for (Problem& problem : sorted) {
    const auto [at, is_new] =
        known.try_emplace({problem.file, problem.text, problem.is_error}, groups.size());
    if (is_new) {
      groups.push_back({.is_error = problem.is_error,
                        .file = std::move(problem.file),
                        .lines = {},
                        .text = std::move(problem.text)});
    }
    groups[at->second].lines.push_back(problem.line);
  }
  return groups;
}

std::string describe(const Problem& problem) {
  const std::string place =
      problem.line == 0 ? problem.file : fmt::format("{}:{}", problem.file, problem.line);
  return fmt::format("{}: {}: {}", place, problem.is_error ? "error" : "warning", problem.text);
}

std::string describe(const ProblemGroup& group) {
  constexpr size_t kPlacesNamed = 3;
  std::string text = describe(Problem{.is_error = group.is_error,
                                      .file = group.file,
                                      .line = group.lines.front(),
                                      .text = group.text});
  if (group.lines.size() == 1) return text;
  std::vector<size_t> places = group.lines;
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const bool more = places.size() > kPlacesNamed;
  if (more) places.resize(kPlacesNamed);
  return fmt::format("{} ({} times: {} {}{})", text, group.lines.size(),
                     places.size() == 1 ? "line" : "lines", fmt::join(places, ", "),
                     more ? ", ..." : "");
}

namespace {

// A limit, because finding a member is a linear search.
constexpr size_t kMostMembers = 1000;

// Counts the lines that the parser has consumed so far.
class CountingIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  CountingIterator(const char* at, size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* line_;
};

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(const size_t* line, std::string file) : line_(line), file_(std::move(file)) {}
  JsonNode take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override {
    return add({.kind = JsonNode::Kind::boolean, .boolean = value});
  }
  bool number_integer(number_integer_t value) override { return add_number(value_of(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add_number(value_of(value)); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == string_t::npos) {
      fail(ErrorKind::input, "{}:{}: {} is a whole number of more than 64 bits", file_, *line_,
           text);
    }
    return add_number({.number = value});
  }
  bool string(string_t& value) override {
    return add({.kind = JsonNode::Kind::text, .text = std::move(value)});
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return open(JsonNode::Kind::object); }
  bool start_array(size_t /*size*/) override { return open(JsonNode::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    key_line_ = *line_;
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    const size_t colon = what.find(": ");  // ends the library's own error name
    fail(ErrorKind::input, "{}:{}: this is not JSON: {}", file_, *line_,
         colon == std::string_view::npos ? what : what.substr(colon + 2));
  }

 private:
  bool add_number(const Value& value) {
    return add({.kind = JsonNode::Kind::number, .number = value});
  }
  bool add(JsonNode node) {
    node.line = *line_;
    place(std::move(node));
    return true;
  }
  JsonNode& place(JsonNode node) {
    if (open_.empty()) return root_ = std::move(node);
    JsonNode& parent = *open_.back();
    if (parent.is(JsonNode::Kind::list)) return parent.items.emplace_back(std::move(node));
    if (parent.members.size() == kMostMembers) {
      fail(ErrorKind::input, "{}:{}: an object has more than {} members", file_, key_line_,
           kMostMembers);
    }
    return parent.members
        .emplace_back(
            JsonMember{.key = std::move(key_), .line = key_line_, .value = std::move(node)})
        .value;
  }
  // The address of a node is stable while it is open: its parent gets no other child meanwhile.
  bool open(JsonNode::Kind kind) {
    open_.push_back(&place({.kind = kind, .line = *line_}));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const size_t* line_;
  std::string file_;
  JsonNode root_;
  std::vector<JsonNode*> open_;
  std::string key_;
  size_t key_line_ = 0;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const JsonMember& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &found->value;
}

JsonNode parse_json(std::string_view text, const std::string& file) {
  check_json(text, file);
  size_t line = 1;
  TreeBuilder builder(&line, file);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &line),
                            CountingIterator(text.data() + text.size(), &line), &builder);
  return builder.take();
}

std::string_view name(JsonNode::Kind kind) {
  switch (kind) {
    case JsonNode::Kind::null:
      return "null";
    case JsonNode::Kind::boolean:
      return "true or false";
    case JsonNode::Kind::number:
      return "a number";
    case JsonNode::Kind::text:
      return "a string";
    case JsonNode::Kind::list:
      return "a list";
    case JsonNode::Kind::object:
      return "an object";
  }
  return "";
}

bool same(const JsonNode& one, const JsonNode& other) {
  if (one.kind != other.kind) return false;
  switch (one.kind) {
    case JsonNode::Kind::null:
      return true;
    case JsonNode::Kind::boolean:
      return one.boolean == other.boolean;
    case JsonNode::Kind::number:
      return one.number == other.number;
    case JsonNode::Kind::text:
      return one.text == other.text;
    case JsonNode::Kind::list:
      return std::equal(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(),
                        same);
    case JsonNode::Kind::object:
      return one.members.size() == other.members.size() &&
             std::all_of(one.members.begin(), one.members.end(), [&](const JsonMember& member) {
               const JsonNode* value = other.find(member.key);
               return value != nullptr && same(member.value, *value);
             });
  }
  return false;
}

namespace {

using Kind = JsonNode::Kind;

constexpr std::array<std::string_view, 11> kNotes = {
    "description", "version", "created",       "updated", "creation_date", "purpose",
    "rationale",   "date",    "experiment_id", "id",      "name"};
constexpr std::array<std::string_view, 6> kNotePrefixes = {"_",          "comment",   "note",
                                                           "estimated_", "expected_", "target_"};
constexpr std::array<std::string_view, 7> kNoteEndings = {
    "_note", "_notes", "_comment", "_status", "_info", "_summary", "_description"};
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
                          fmt::format("{} appears twice; the last one would count", member.key));
    }
  }
}

const JsonNode* ObjectReader::given(const std::string& key) const {
  const JsonNode* value = node_.find(key);
  return value == nullptr || value->is(Kind::null) ? nullptr : value;
}

const JsonNode* ObjectReader::any(const std::string& key) {
  known_.insert(key);
  suggested_.insert(key);
  return given(key);
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
  error(value->line, fmt::format("{} must be a time: seconds, or a string like \"2h\"", key));
  return std::nullopt;
}

std::optional<uint64_t> ObjectReader::bytes(const std::string& key) {
  const JsonNode* value = any(key);
  if (value == nullptr || value->is(Kind::null)) return std::nullopt;
  std::optional<uint64_t> bytes;
  try {
    if (value->is(Kind::number) && value->number.whole && value->number.number > 0) {
      bytes = static_cast<uint64_t>(*whole_of(value->number));
    }
    if (value->is(Kind::text)) bytes = parse_bytes(value->text);
  } catch (const Error& problem) {
    error(value->line, fmt::format("{}: {}", key, problem.what()));
    return std::nullopt;
  }
  constexpr uint64_t kLeastBytes = kMiB;
  if (bytes && *bytes >= kLeastBytes) return bytes;
  error(value->line,
        bytes ? fmt::format("{} is {}, less than any program needs; write it like \"8G\"", key,
                            format_bytes(*bytes))
              : fmt::format("{} must be a size: bytes, or a string like \"8G\"", key));
  return std::nullopt;
}

std::optional<std::vector<std::string>> ObjectReader::texts(const std::string& key) {
  const JsonNode* value = any(key);
  return value == nullptr ? std::nullopt : std::optional(names_in(*value, key));
}

std::vector<std::string> ObjectReader::names_in(const JsonNode& node, const std::string& key) {
  if (node.is(Kind::text)) return {node.text};
  if (!node.is(Kind::list)) {
    error(node.line,
          fmt::format("{} is {}; it must be a string or a list of strings", key, name(node.kind)));
  }
  std::vector<std::string> words;
  for (const JsonNode& item : node.items) {
    if (item.is(Kind::text)) {
      words.push_back(item.text);
    } else {
      error(item.line,
            fmt::format("{} contains {}; it must contain strings", key, name(item.kind)));
    }
  }
  return words;
}

const JsonNode* ObjectReader::former(const std::string& spelling, const std::string& present) {
  known_.insert(spelling);
  const JsonNode* value = given(spelling);
  if (value == nullptr) return nullptr;
  if (const JsonNode* counts = given(present)) {
    if (same(*value, *counts)) return nullptr;
    problems_.key_error(
        file_, line_of(spelling),
        fmt::format("{} and {} mean the same, but both are present; {}", spelling, present,
                    problems_.lenient() ? present + " is used" : "remove " + spelling));
    return nullptr;
  }
  warning(line_of(spelling), fmt::format("{} is taken as {}", spelling, present));
  return value;
}

const JsonNode* ObjectReader::former(const std::string& spelling, const std::string& present,
                                     Kind kind) {
  const JsonNode* value = given(spelling);
  if (value == nullptr || value->is(kind)) return former(spelling, present);
  known_.insert(spelling);
  error(value->line,
        fmt::format("{} is {}; it must be {}", spelling, name(value->kind), name(kind)));
  return nullptr;
}

const JsonNode* ObjectReader::quietly(const std::string& key) {
  known_.insert(key);
  return given(key);
}

size_t ObjectReader::line_of(const std::string& key) const {
  for (const JsonMember& member : node_.members) {
    if (member.key == key) return member.line;
  }
  return node_.line;
}

void ObjectReader::finish(const std::string& where, const Elsewhere& elsewhere) {
  // A key is no misspelling of one that is also there: "num_experiments" beside "experiments".
  std::vector<std::string> candidates;
  std::copy_if(suggested_.begin(), suggested_.end(), std::back_inserter(candidates),
               [&](const std::string& key) { return !has(key); });
  for (const JsonMember& member : node_.members) {
    if (known_.contains(member.key)) continue;
    if (is_note(member.key)) {
      problems_.count_note();
      continue;
    }
    const auto& strangers = elsewhere.keys;
    if (std::find(strangers.begin(), strangers.end(), member.key) != strangers.end()) {
      problems_.key_error(file_, member.line,
                          fmt::format("{} has no meaning in {}; it belongs to {}", member.key,
                                      where, elsewhere.home));
    } else if (const auto meant = nearest(member.key, candidates)) {
      problems_.key_error(
          file_, member.line,
          fmt::format("unknown key {} in {}; did you mean {}?", member.key, where, *meant));
    } else {
      problems_.key_without_effect(
          file_, member.line,
          fmt::format("unknown key {} in {}: it has no effect", member.key, where));
    }
  }
}

}  // namespace plimsoll::experiment
