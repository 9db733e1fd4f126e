#include "formats/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kMaxHeaderBytes = kMiB;
constexpr size_t kMaxRank = 64;  // numpy's limit

struct DtypeFacts {
  Dtype dtype;
  std::string_view code;  // as in the header, without the byte order
  std::string_view numpy_name;
  uint32_t item_bytes;
};
constexpr std::array kDtypes = {
    DtypeFacts{Dtype::boolean, "b1", "bool", 1}, DtypeFacts{Dtype::i1, "i1", "int8", 1},
    DtypeFacts{Dtype::u1, "u1", "uint8", 1},     DtypeFacts{Dtype::i2, "i2", "int16", 2},
    DtypeFacts{Dtype::u2, "u2", "uint16", 2},    DtypeFacts{Dtype::i4, "i4", "int32", 4},
    DtypeFacts{Dtype::u4, "u4", "uint32", 4},    DtypeFacts{Dtype::i8, "i8", "int64", 8},
    DtypeFacts{Dtype::u8, "u8", "uint64", 8},    DtypeFacts{Dtype::f2, "f2", "float16", 2},
    DtypeFacts{Dtype::f4, "f4", "float32", 4},   DtypeFacts{Dtype::f8, "f8", "float64", 8},
};

const DtypeFacts& facts(Dtype dtype) { return kDtypes.at(static_cast<size_t>(dtype)); }

// Parses the dict literal. Python would accept more (nested values, comments), but numpy does not
// write it.
class HeaderParser {
 public:
  HeaderParser(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail_header("something follows the closing brace");
    if (!dtype_ || !fortran_order_ || !shape_) {
      fail_header("it needs the keys descr, fortran_order and shape");
    }
    NpyHeader header;
    header.dtype = *dtype_;
    header.shape = std::move(*shape_);
    header.value_count = count_values(header);
    const auto extended = std::count_if(header.shape.begin(), header.shape.end(),
                                        [](uint64_t extent) { return extent > 1; });
    header.fortran_order = *fortran_order_ && extended > 1;
    return header;
  }

 private:
  void parse_entry() {
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr" && !dtype_) {
      dtype_ = parse_dtype();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = parse_bool();
    } else if (key == "shape" && !shape_) {
      shape_ = parse_shape();
    } else {
      fail_header("a key is unknown or appears twice");
    }
  }

  Dtype parse_dtype() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') {
      fail(ErrorKind::input, "{} is an array of records; save each field as an array of its own",
           name_);
    }
    const std::string_view descr = parse_string();
    const char order = descr.empty() ? '\0' : descr.front();
    const std::string_view code = descr.substr(descr.empty() ? 0 : 1);
    const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                     [&](const DtypeFacts& known) { return known.code == code; });
    if (found == kDtypes.end()) {
      fail(ErrorKind::input,
           "{} has dtype '{}'; bool, integers and floats of at most 64 bits are "
           "read, convert it with astype",
           name_, printable(descr));
    }
    if (order == '>') {
      fail(ErrorKind::input, "{} is big-endian ('{}'); save it as little-endian: a.astype('<{}')",
           name_, descr, code);
    }
    if (order != '<' && !(order == '|' && found->item_bytes == 1)) {
      fail_header("the dtype has no byte order");
    }
    return found->dtype;
  }

  bool parse_bool() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail_header("fortran_order is neither True nor False");
  }

  std::vector<uint64_t> parse_shape() {
    std::vector<uint64_t> shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxRank) fail_header("the shape has more than 64 extents");
      shape.push_back(parse_extent());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  uint64_t parse_extent() {
    skip_space();
    uint64_t extent = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
    if (error != std::errc()) fail_header("an extent of the shape is not a number below 2^64");
    at_ += static_cast<size_t>(end - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers like this
    return extent;
  }

  std::string_view parse_string() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      fail_header("a quoted word is missing");
    }
    const size_t begin = at_ + 1;
    const size_t end = text_.find(text_[at_], begin);
    if (end == std::string_view::npos) fail_header("a quote is not closed");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  uint64_t count_values(const NpyHeader& header) const {
    if (std::count(header.shape.begin(), header.shape.end(), 0) > 0) return 0;
    uint64_t bytes = item_bytes(header.dtype);
    for (const uint64_t extent : header.shape) {
      if (bytes > std::numeric_limits<int64_t>::max() / extent) {
        fail_header("the shape is larger than any file");
      }
      bytes *= extent;
    }
    return bytes / item_bytes(header.dtype);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail_header(fmt::format("'{}' is missing", wanted));
  }

  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 40));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return result;
  }

  [[noreturn]] void fail_header(std::string_view what) const {
    fail(ErrorKind::input,
         "{}: the npy header is damaged, at its character {}: {}; save the array "
         "again with np.save",
         name_, at_, what);
  }

  const std::string& name_;
  std::string_view text_;
  size_t at_ = 0;
  std::optional<Dtype> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<uint64_t>> shape_;
};

void read_header_bytes(ByteStream& stream, std::span<std::byte> bytes) {
  if (stream.read(bytes) != bytes.size()) {
    fail(ErrorKind::input,
         "{} ends at byte {}, within its npy header; the file is cut short, "
         "fetch or save it again",
         stream.name(), stream.position());
  }
}

template <typename T>
T read_little_endian(ByteStream& stream) {
  std::array<std::byte, sizeof(T)> bytes = {};
  read_header_bytes(stream, bytes);
  T value = 0;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

std::string_view numpy_name(Dtype dtype) { return facts(dtype).numpy_name; }
uint32_t item_bytes(Dtype dtype) { return facts(dtype).item_bytes; }
bool is_float(Dtype dtype) { return facts(dtype).code.front() == 'f'; }

NpyHeader parse_npy_header(ByteStream& stream) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  std::array<std::byte, kMagic.size()> magic = {};
  const size_t count = stream.read(magic);
  if (count != magic.size() || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    fail(ErrorKind::input,
         "{} is not an npy array: it does not start with the bytes \\x93NUMPY; "
         "save it with np.save or np.savez",
         stream.name());
  }
  const auto major = read_little_endian<uint8_t>(stream);
  const auto minor = read_little_endian<uint8_t>(stream);
  if (major < 1 || major > 3 || minor != 0) {
    fail(ErrorKind::input, "{} is of npy version {}.{}; versions 1.0, 2.0 and 3.0 are read",
         stream.name(), major, minor);
  }
  const size_t header_bytes =
      major == 1 ? read_little_endian<uint16_t>(stream) : read_little_endian<uint32_t>(stream);
  if (header_bytes > kMaxHeaderBytes) {
    fail(ErrorKind::input, "{} has an npy header of {} bytes; at most {} are read", stream.name(),
         header_bytes, kMaxHeaderBytes);
  }
  std::string text(header_bytes, '\0');
  read_header_bytes(stream, std::as_writable_bytes(std::span(text)));
  return HeaderParser(stream.name(), text).parse();
}

std::string describe(const NpyHeader& header) {
  const char* const single = header.shape.size() == 1 ? "," : "";
  return fmt::format("{} of shape ({}{})", numpy_name(header.dtype), fmt::join(header.shape, ", "),
                     single);
}

}  // namespace plimsoll::formats
