#include "plan/machine.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "io/random_read.h"
#include "kernel/kernels.h"
#include "memory/buffer.h"
#include "plan/matrix_product.h"
#include "plan/rate.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kMostMemoryBytes = 128 * kMiB;
constexpr uint64_t kLeastMemoryBytes = kMiB;

// Each measurement has this memory to itself, one after the other.
uint64_t memory_bytes(const memory::Ledger& ledger) {
  return std::clamp(ledger.available_bytes() / 4, kLeastMemoryBytes, kMostMemoryBytes);
}

// The size of the file as reads see it: in whole sectors.
uint64_t readable_bytes(const io::RowFile& file) {
  return (file.size_bytes + file.alignment - 1) / file.alignment * file.alignment;
}

// Reads a second of `bytes` anywhere in the file; a file smaller than that is read whole.
double read_rate(io::ReadQueue& queue, const io::RowFile& file, uint64_t bytes,
                 std::span<std::byte> area) {
  const uint64_t end = readable_bytes(file);
  bytes = std::min(bytes, end);
  if (bytes == 0) return 0;
  const RandomStream random(1, bytes);
  std::vector<io::Piece> pieces;
  uint64_t drawn = 0;
  const auto read = [&](uint64_t count) {
    pieces.resize(count);
    std::byte* to = area.data();
    for (io::Piece& piece : pieces) {
      piece = {below(random.at(drawn++), end / bytes) * bytes, static_cast<uint32_t>(bytes), to};
      to += bytes;
    }
    queue.read(file, pieces);
  };
  const uint64_t most = std::min<uint64_t>(area.size() / bytes, 32'768);
  return measure_rate({.seconds = 0.4, .first = std::min<uint64_t>(most, 16), .most = most}, read);
}

void measure_disk(const std::filesystem::path& path, memory::Ledger& ledger, Machine& machine) {
  const io::RowFile file = io::open_rows(path);
  const auto queue = io::ReadQueue::open(ledger);
  const uint64_t bytes = std::min(memory_bytes(ledger), 32 * kMiB);
  const memory::Buffer<std::byte> area(ledger, "calibration", bytes);
  std::ranges::fill(area.span(), std::byte{1});  // so that no read waits for a fresh page
  machine.read_method = queue->method();
  machine.read_bytes = std::max(file.alignment, kSectorBytes);
  machine.reads_per_second = read_rate(*queue, file, machine.read_bytes, area.span());
  const uint64_t large_bytes = std::min(io::kStreamBytes, readable_bytes(file));
  machine.read_bytes_per_second =
      read_rate(*queue, file, large_bytes, area.span()) * static_cast<double>(large_bytes);
}

// The shape of a layer: many rows, a few hundred columns.
double flops(unsigned threads, memory::Ledger& ledger) {
  constexpr int kColumns = 256;
  const int rows = static_cast<int>(
      std::min<uint64_t>(memory_bytes(ledger) / (4 * kColumns * sizeof(float)), 4096));
  const memory::Buffer<float> a(ledger, "calibration", static_cast<uint64_t>(rows) * kColumns);
  const memory::Buffer<float> b(ledger, "calibration", uint64_t{kColumns} * kColumns);
  const memory::Buffer<float> c(ledger, "calibration", static_cast<uint64_t>(rows) * kColumns);
  std::ranges::fill(a.span(), 0.5F);
  std::ranges::fill(b.span(), 0.25F);
  const MatrixProduct product(threads);
  const auto multiply = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      product.multiply({a.data(), b.data(), c.data(), rows, kColumns, kColumns});
    }
  };
  return measure_rate({.seconds = 0.3}, multiply) * 2.0 * rows * kColumns * kColumns;
}

// Rows of 128 halves, as most stores have them, out of more memory than a CPU caches.
double gathered_rows(memory::Ledger& ledger) {
  constexpr uint32_t kColumns = 128;
  constexpr uint64_t kRowBytes = 256;
  constexpr uint64_t kVisits = 4096;
  const uint64_t bytes = memory_bytes(ledger);
  const memory::Buffer<unsigned char> table(ledger, "calibration", bytes);
  const memory::Buffer<float> out(ledger, "calibration", kVisits * kColumns);
  std::ranges::fill(table.span(), static_cast<unsigned char>(1));
  const kernel::Rows rows = {.data = table.data(),
                             .row_bytes = kRowBytes,
                             .count = bytes / kRowBytes,
                             .columns = kColumns,
                             .half = true};
  const RandomStream random(1, 1);
  std::vector<uint32_t> nodes(kVisits * 64);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = static_cast<uint32_t>(below(random.at(i), rows.count));
  }
  uint64_t batch = 0;
  const auto gather = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t* visited = nodes.data() + batch++ % 64 * kVisits;
      kernel::best().gather({.rows = rows, .nodes = visited, .out = out.data(), .last = kVisits});
    }
  };
  return measure_rate({.seconds = 0.25}, gather) * static_cast<double>(kVisits);
}

}  // namespace

Machine calibrate(const std::filesystem::path& file, unsigned threads, memory::Ledger& ledger) {
  Machine machine{.threads = threads};
  measure_disk(file, ledger, machine);
  machine.flops_per_second = flops(threads, ledger);
  machine.rows_per_second = gathered_rows(ledger);
  return machine;
}

}  // namespace plimsoll::plan
