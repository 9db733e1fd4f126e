// The npy header and the values behind it: whatever the bytes, only Error may come out.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "formats/npy.h"

namespace {

using plimsoll::formats::NpyOrder;
using plimsoll::formats::NpyReader;

template <typename Read>
void read_all(std::span<const std::byte> bytes, Read read) {
  try {
    NpyReader reader(plimsoll::formats::open_memory(bytes, "fuzz.npy"), NpyOrder::any);
    while (read(reader) > 0) {
    }
  } catch (const plimsoll::Error& error) {
    if (error.kind() != plimsoll::ErrorKind::input) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_all(bytes, [](NpyReader& reader) {
    std::array<uint32_t, 64> ids;
    return reader.read_ids(ids, 1000);
  });
  read_all(bytes, [](NpyReader& reader) {
    std::array<float, 64> features;
    return reader.read_features(features);
  });
  read_all(bytes, [](NpyReader& reader) {
    std::array<int32_t, 64> labels;
    return reader.read_labels(labels);
  });
  read_all(bytes, [](NpyReader& reader) {
    std::array<uint64_t, 64> counts;
    return reader.read_counts(counts);
  });
  return 0;
}
