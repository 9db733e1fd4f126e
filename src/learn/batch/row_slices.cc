#include "batch/row_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "batch/assemble.h"
#include "io/file.h"

namespace plimsoll::batch {
namespace {

constexpr unsigned kReaders = 2;  // threads that read a slice
constexpr uint64_t kOffsetsStep = io::kBlockBytes / sizeof(uint64_t);

}  // namespace

StoreFile::StoreFile(const std::filesystem::path& path)
    : file(io::open_rows(path)),
      opened(fmt::format("/proc/self/fd/{}", file.file.fd.get())),
      name(path.string()) {}

void StoreFile::refuse(const std::string& what) const {
  fail(ErrorKind::store, "{}: {}; import the graph again", name, what);
}

void StoreFile::load(uint64_t begin, std::span<std::byte> out) const {
  if (begin + out.size() > file.size_bytes) refuse("it ends too early");
  io::load({.path = opened, .name = name, .begin = begin, .out = out}, kReaders,
           [](std::span<const std::byte>) {});
}

RowSlice::RowSlice(memory::Ledger& ledger, uint64_t rows, uint64_t row_bytes, bool weighted)
    : bytes(ledger, "rows", rows * row_bytes),
      offsets(ledger, "rows", weighted ? rows + 1 : 0),
      weights(ledger, "rows", weighted ? rows : 0) {}

uint64_t RowSlice::bytes_needed(uint64_t rows, uint64_t row_bytes) {
  return memory::Buffer<std::byte>::bytes_needed(rows * row_bytes) +
         memory::Buffer<uint64_t>::bytes_needed(rows + 1) +
         memory::Buffer<float>::bytes_needed(rows);
}

void RowSlice::load(uint64_t first_row, const SlicedRows& from) {
  first = first_row;
  count = std::min(from.most_rows, from.meta.nodes - first);
  from.rows.load(first * from.meta.row_bytes, bytes.first(count * from.meta.row_bytes));
  if (from.offsets == nullptr) return;
  from.offsets->load(first * sizeof(uint64_t), std::as_writable_bytes(offsets.first(count + 1)));
  for (uint64_t i = 0; i < count; ++i) weights[i] = one_over_root(offsets[i + 1] - offsets[i] + 1);
}

uint64_t rows_of_slices(const graph::Meta& meta, uint64_t bytes) {
  const uint64_t step =
      std::lcm(io::kBlockBytes / std::gcd(io::kBlockBytes, meta.row_bytes), kOffsetsStep);
  const uint64_t steps = std::max<uint64_t>(1, bytes / (step * meta.row_bytes));
  return std::min(steps, (meta.nodes + step - 1) / step) * step;
}

}  // namespace plimsoll::batch
