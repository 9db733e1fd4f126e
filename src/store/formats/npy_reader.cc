#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "base/half.h"
#include "base/units.h"
#include "formats/graph_parts.h"
#include "formats/npy.h"

namespace plimsoll::formats {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are used as they are in the file");

constexpr size_t kBlockBytes = 256 * kKiB;

struct Half {
  uint16_t bits;
};

template <typename T>
T load(const std::byte* bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

// Calls visit(T{}) with the C++ type of `dtype` in the file; for bool it is uint8_t.
template <typename Visit>
void with_type(Dtype dtype, Visit visit) {
  switch (dtype) {
    case Dtype::boolean:
    case Dtype::u1:
      return visit(uint8_t{});
    case Dtype::i1:
      return visit(int8_t{});
    case Dtype::i2:
      return visit(int16_t{});
    case Dtype::u2:
      return visit(uint16_t{});
    case Dtype::i4:
      return visit(int32_t{});
    case Dtype::u4:
      return visit(uint32_t{});
    case Dtype::i8:
      return visit(int64_t{});
    case Dtype::u8:
      return visit(uint64_t{});
    case Dtype::f2:
      return visit(Half{});
    case Dtype::f4:
      return visit(float{});
    case Dtype::f8:
      return visit(double{});
  }
}

// The number as a type that label_of and messages accept.
template <typename T>
auto widened(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<double>(from_half(value.bits));
  } else if constexpr (std::floating_point<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<int64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

void require_integers(const NpyReader& reader, std::string_view what) {
  if (reader.header().value_count == 0) return;  // np.array([]) is float64 by default
  const Dtype dtype = reader.header().dtype;
  if (dtype == Dtype::boolean) {
    fail(ErrorKind::input, "{} is bool, {} are integers; turn a mask into ids with np.flatnonzero",
         reader.name(), what);
  }
  if (is_float(dtype)) {
    fail(ErrorKind::input, "{} is {}, {} are integers; convert it with astype('int64')",
         reader.name(), numpy_name(dtype), what);
  }
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteStream> stream, NpyOrder accepted)
    : stream_(std::move(stream)), header_(parse_npy_header(*stream_)) {
  if (header_.fortran_order && accepted == NpyOrder::c) {
    fail(ErrorKind::input,
         "{} is stored column by column (fortran_order is True); save np.ascontiguousarray(a) "
         "instead",
         name());
  }
}

size_t NpyReader::read_ids(std::span<uint32_t> ids, uint64_t nodes) {
  require_integers(*this, "node ids");
  return read_blocks(ids.size(),
                     [&]<typename T>(T, const std::byte* raw, size_t first, size_t count) {
                       if constexpr (std::integral<T>) {
                         // A negative id becomes larger than any number of nodes.
                         bool all_nodes = true;
                         for (size_t i = 0; i < count; ++i) {
                           const auto id = static_cast<uint64_t>(load<T>(raw, i));
                           all_nodes &= id < nodes;
                           ids[first + i] = static_cast<uint32_t>(id);
                         }
                         if (all_nodes) return;
                         for (size_t i = 0; i < count; ++i) {
                           const T id = load<T>(raw, i);
                           if (static_cast<uint64_t>(id) >= nodes) fail_id(place_of(i), id, nodes);
                         }
                       }
                     });
}

size_t NpyReader::read_features(std::span<float> features) {
  if (header_.dtype == Dtype::f4) {
    const size_t count = std::min<uint64_t>(features.size(), values_left());
    read_fully(std::as_writable_bytes(features.first(count)));
    advance(count);
    return count;
  }
  const bool boolean = header_.dtype == Dtype::boolean;
  return read_blocks(
      features.size(), [&]<typename T>(T, const std::byte* raw, size_t first, size_t count) {
        if constexpr (std::is_same_v<T, Half>) {
          std::array<uint16_t, 1024> halves;
          for (size_t i = 0; i < count; i += halves.size()) {
            const size_t step = std::min(halves.size(), count - i);
            std::memcpy(halves.data(), raw + i * sizeof(T), step * sizeof(T));
            from_half(std::span(halves).first(step), features.subspan(first + i, step));
          }
        } else {
          for (size_t i = 0; i < count; ++i) {
            const T value = load<T>(raw, i);
            features[first + i] = static_cast<float>(boolean ? T(value != T{0}) : value);
          }
        }
      });
}

size_t NpyReader::read_labels(std::span<int32_t> labels) {
  return read_blocks(labels.size(),
                     [&]<typename T>(T, const std::byte* raw, size_t first, size_t count) {
                       for (size_t i = 0; i < count; ++i) {
                         const auto number = widened(load<T>(raw, i));
                         const auto label = label_of(number);
                         if (!label) fail_label(place_of(i), number);
                         labels[first + i] = *label;
                       }
                     });
}

size_t NpyReader::read_counts(std::span<uint64_t> counts) {
  require_integers(*this, "counts");
  return read_blocks(counts.size(),
                     [&]<typename T>(T, const std::byte* raw, size_t first, size_t count) {
                       if constexpr (std::integral<T>) {
                         for (size_t i = 0; i < count; ++i) {
                           const T value = load<T>(raw, i);
                           if (value < T{0})
                             fail(ErrorKind::input, "{}: the count is {}", place_of(i), value);
                           counts[first + i] = static_cast<uint64_t>(value);
                         }
                       }
                     });
}

size_t NpyReader::read_flags(std::span<uint8_t> flags) {
  return read_blocks(
      flags.size(), [&]<typename T>(T, const std::byte* raw, size_t first, size_t count) {
        if constexpr (std::integral<T>) {
          for (size_t i = 0; i < count; ++i) {
            const T value = load<T>(raw, i);
            if (value != T{0} && value != T{1})
              fail(ErrorKind::input, "{}: {}; a mask has 0 and 1", place_of(i), value);
            flags[first + i] = static_cast<uint8_t>(value);
          }
        }
      });
}

void NpyReader::skip(uint64_t values) {
  const uint64_t bytes = values * item_bytes(header_.dtype);
  if (stream_->skip(bytes) != bytes) fail_early_end();
  advance(values);
}

// convert(T{}, raw, first, count) converts `count` values of type T at `raw` into the caller's
// elements from `first` on. While it runs, place_of(i) names the i-th of them.
template <typename Convert>
size_t NpyReader::read_blocks(size_t wanted, Convert convert) {
  block_.resize(kBlockBytes);
  const size_t item = item_bytes(header_.dtype);
  const size_t total = std::min<uint64_t>(wanted, values_left());
  for (size_t done = 0; done < total;) {
    const size_t count = std::min(total - done, kBlockBytes / item);
    read_fully(std::span(block_).first(count * item));
    with_type(header_.dtype, [&](auto type) { convert(type, block_.data(), done, count); });
    advance(count);
    done += count;
  }
  return total;
}

void NpyReader::read_fully(std::span<std::byte> bytes) {
  if (stream_->read(bytes) != bytes.size()) fail_early_end();
}

void NpyReader::advance(uint64_t values) {
  next_value_ += values;
  if (values_left() > 0) return;
  std::array<std::byte, 1> beyond = {};
  if (stream_->read(beyond) > 0) {
    fail(ErrorKind::input,
         "{}: bytes follow the last value of {}, from byte {} on; the file is "
         "damaged or was written over a longer one, save it again",
         name(), describe(header_), stream_->position() - 1);
  }
}

void NpyReader::fail_early_end() const {
  fail(ErrorKind::input,
       "{} ends at byte {}, but {} needs {} bytes after the header; the file is "
       "cut short, fetch or save it again",
       name(), stream_->position(), describe(header_),
       header_.value_count * item_bytes(header_.dtype));
}

std::string NpyReader::place_of(size_t offset) const {
  uint64_t rest = next_value_ + offset;
  const size_t rank = header_.shape.size();
  std::vector<uint64_t> index(rank);
  for (size_t i = 0; i < rank; ++i) {  // starts with the fastest-changing extent
    const size_t extent = header_.fortran_order ? i : rank - 1 - i;
    index[extent] = rest % header_.shape[extent];
    rest /= header_.shape[extent];
  }
  return fmt::format("{} at [{}]", name(), fmt::join(index, ", "));
}

}  // namespace plimsoll::formats
