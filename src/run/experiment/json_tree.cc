#include "experiment/json_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json.h"

namespace plimsoll::experiment {
namespace {

// What looks for a member goes through all of them.
constexpr size_t kMostMembers = 1000;

// Counts the lines of what the parser has taken so far.
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
    const size_t colon = what.find(": ");  // behind the library's name for it
    fail(ErrorKind::input, "{}:{}: this is no JSON: {}", file_, *line_,
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
  // A node's address is stable while it is open: its parent gets no other child meanwhile.
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
      return "a text";
    case JsonNode::Kind::list:
      return "a list";
    case JsonNode::Kind::object:
      return "an object";
  }
  return "";
}

}  // namespace plimsoll::experiment
