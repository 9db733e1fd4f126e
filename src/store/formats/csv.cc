#include "formats/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "formats/graph_parts.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kBufferBytes = 256 * kKiB;
constexpr size_t kMaxLineBytes = 8 * kMiB;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  while (!text.empty() && kSpace.find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  while (!text.empty() && kSpace.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// The fields of a line, one at a time. An empty line has one empty field.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::optional<std::string_view> next() {
    if (ended_) return std::nullopt;
    const size_t comma = rest_.find(',');
    const std::string_view field = rest_.substr(0, comma);
    ended_ = comma == std::string_view::npos;
    if (!ended_) rest_.remove_prefix(comma + 1);
    return trimmed(field);
  }

 private:
  std::string_view rest_;
  bool ended_ = false;
};

std::string quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string shown(text.substr(0, kShown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return fmt::format("'{}{}'", shown, text.size() > kShown ? "..." : "");
}

template <typename Number>
std::errc parse_whole(std::string_view field, Number& value) {
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error == std::errc() && stop != end) return std::errc::invalid_argument;
  return error;
}

// from_chars reports the same error for a number too small for a float, which we accept as nearly
// 0, and for a number too large.
std::errc parse_float(std::string_view field, float& value) {
  const std::errc error = parse_whole(field, value);
  if (error != std::errc::result_out_of_range) return error;
  const double wide = std::strtod(std::string(field).c_str(), nullptr);
  if (std::abs(wide) >= 1.0) return error;
  value = static_cast<float>(wide);
  return std::errc();
}

std::string_view unquoted(std::string_view field) {
  const bool in_quotes = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return in_quotes ? trimmed(field.substr(1, field.size() - 2)) : field;
}

// The column names if the line is a header, else empty. Only a line of words is a header: a header
// is skipped, and a line with a damaged number must not be.
std::vector<std::string> header_names(std::string_view line) {
  constexpr std::string_view kNumberStarts = "0123456789+-.";
  std::vector<std::string> names;
  Fields fields(line);
  while (const auto field = fields.next()) {
    const std::string_view word = unquoted(*field);
    double number = 0;
    if (word.empty() || kNumberStarts.find(word.front()) != std::string_view::npos ||
        parse_whole(word, number) == std::errc()) {
      return {};
    }
    names.emplace_back(word);
  }
  return names;
}

struct Place {
  const std::string& file;
  const CsvLine& line;
  size_t field;  // from 0

  std::string words() const {
    return fmt::format("{}, line {}, field {}", file, line.number, field + 1);
  }
};

[[noreturn]] void fail_field_count(const std::string& file, const CsvLine& line, size_t expected) {
  const size_t found = count_fields(line.text);
  fail(ErrorKind::input, "{}, line {} has {} field{}, {} expected, separated by commas", file,
       line.number, found, found == 1 ? "" : "s", expected);
}

[[noreturn]] void fail_number(const Place& place, std::string_view field, std::errc error) {
  if (error == std::errc::result_out_of_range) {
    fail(ErrorKind::input, "{}: {} is out of range", place.words(), quoted(field));
  }
  double number = 0;
  if (parse_whole(field, number) == std::errc()) {
    fail(ErrorKind::input,
         "{}: {} is not a whole number; write it without sign, point and exponent", place.words(),
         quoted(field));
  }
  if (place.line.number == 1 && parse_whole(unquoted(field), number) != std::errc()) {
    fail(ErrorKind::input,
         "{}: {} is not a number; line 1, {}, looks like a header, but a header is skipped only if "
         "every column has a name that is not a number; remove the line",
         place.words(), quoted(field), quoted(trimmed(place.line.text)));
  }
  fail(ErrorKind::input, "{}: {} is not a number{}", place.words(), quoted(field),
       field.starts_with('"') ? "; write numbers without quotes" : "");
}

// Calls parse(field, place) for each of the `expected` fields; it returns an error code.
template <typename Parse>
void parse_fields(const std::string& file, const CsvLine& line, size_t expected, Parse parse) {
  Fields fields(line.text);
  for (size_t i = 0; i < expected; ++i) {
    const auto field = fields.next();
    if (!field) fail_field_count(file, line, expected);
    const Place place = {file, line, i};
    const std::errc error = parse(*field, place);
    if (error == std::errc()) continue;
    if (count_fields(line.text) != expected) fail_field_count(file, line, expected);
    fail_number(place, *field, error);
  }
  if (fields.next()) fail_field_count(file, line, expected);
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<ByteStream> stream)
    : stream_(std::move(stream)), buffer_(kBufferBytes) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  refill();
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) {
    begin_ = kByteOrderMark.size();
  }
  pending_ = next();
  if (!pending_) return;
  header_ = header_names(pending_->text);
  if (!header_.empty()) pending_.reset();
}

std::optional<CsvLine> CsvReader::next() {
  if (pending_) return std::exchange(pending_, std::nullopt);
  auto line = next_line();
  if (!line || !trimmed(line->text).empty()) return line;
  const uint64_t blank = line->number;
  while ((line = next_line())) {
    if (!trimmed(line->text).empty()) {
      fail(ErrorKind::input, "{}, line {} is empty, but line {} is not; remove the empty line",
           name(), blank, line->number);
    }
  }
  return std::nullopt;
}

uint64_t CsvReader::count_rest() {
  uint64_t count = 0;
  while (next()) ++count;
  return count;
}

std::optional<CsvLine> CsvReader::next_line() {
  size_t searched = begin_;
  for (;;) {
    const char* const found =
        static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
    if (found != nullptr) {
      const char* const text = buffer_.data() + begin_;
      begin_ = static_cast<size_t>(found - buffer_.data()) + 1;
      return CsvLine{{text, found}, ++line_number_};
    }
    const size_t length = end_ - begin_;
    if (!refill()) {
      if (length == 0) return std::nullopt;
      const char* const text = buffer_.data() + std::exchange(begin_, end_);
      return CsvLine{{text, length}, ++line_number_};
    }
    searched = begin_ + length;
  }
}

// Moves the unread rest to the front of the buffer and reads more after it; false at the end.
bool CsvReader::refill() {
  throw_if_interrupted();
  const size_t length = end_ - begin_;
  std::memmove(buffer_.data(), buffer_.data() + begin_, length);
  begin_ = 0;
  end_ = length;
  if (length == buffer_.size()) {
    if (length >= kMaxLineBytes) {
      fail(ErrorKind::input, "{}, line {} is longer than {}; is this a csv file?", name(),
           line_number_ + 1, format_bytes(kMaxLineBytes));
    }
    buffer_.resize(2 * length);
  }
  end_ += stream_->read(std::as_writable_bytes(std::span(buffer_).subspan(length)));
  return end_ > length;
}

size_t count_fields(std::string_view line) {
  return static_cast<size_t>(std::count(line.begin(), line.end(), ',')) + 1;
}

void parse_features(const std::string& file, const CsvLine& line, std::span<float> values) {
  parse_fields(file, line, values.size(), [&](std::string_view field, const Place& place) {
    return parse_float(field, values[place.field]);
  });
}

void parse_ids(const std::string& file, const CsvLine& line, std::span<uint32_t> ids,
               uint64_t nodes) {
  parse_fields(file, line, ids.size(), [&](std::string_view field, const Place& place) {
    int64_t id = 0;
    const std::errc error = parse_whole(field, id);
    if (error != std::errc()) return error;
    if (static_cast<uint64_t>(id) >= nodes) fail_id(place.words(), id, nodes);
    ids[place.field] = static_cast<uint32_t>(id);
    return error;
  });
}

int32_t parse_label(const std::string& file, const CsvLine& line) {
  int32_t result = kUnlabelled;
  parse_fields(file, line, 1, [&](std::string_view field, const Place& place) {
    double number = 0;
    const std::errc error = parse_whole(field, number);
    if (error != std::errc()) return error;
    const auto label = label_of(number);
    if (!label) fail_label(place.words(), number);
    result = *label;
    return error;
  });
  return result;
}

uint64_t parse_count(const std::string& file, const CsvLine& line) {
  uint64_t count = 0;
  parse_fields(file, line, 1,
               [&](std::string_view field, const Place&) { return parse_whole(field, count); });
  return count;
}

}  // namespace plimsoll::formats
