#include "plan/machine.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "io/random_read.h"
#include "memory/buffer.h"
#include "plan/other_load.h"
#include "plan/rate.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kMostAreaBytes = 32 * kMiB;
constexpr uint64_t kLeastAreaBytes = kMiB;

// The size of the file as reads see it: in whole sectors.
uint64_t readable_bytes(const io::RowFile& file) {
  return (file.size_bytes + file.alignment - 1) / file.alignment * file.alignment;
}

struct ReadMeasurement {
  uint64_t bytes = 0;         // of a read
  uint64_t at_once = 32'768;  // under way
  double seconds = 0.4;       // to measure for
};

// Reads a second anywhere in the file; a file smaller than one is read whole.
double read_rate(io::ReadQueue& queue, const io::RowFile& file, const ReadMeasurement& measurement,
                 std::span<std::byte> area) {
  const uint64_t end = readable_bytes(file);
  const uint64_t bytes = std::min(measurement.bytes, end);
  if (bytes == 0) return 0;
  const RandomStream random(1, bytes);
  std::vector<io::Piece> pieces;
  uint64_t drawn = 0;
  const uint64_t most = std::min<uint64_t>(area.size() / bytes, measurement.at_once);
  const auto read = [&](uint64_t count) {
    pieces.resize(count);
    std::byte* to = area.data();
    for (io::Piece& piece : pieces) {
      piece = {below(random.at(drawn++), end / bytes) * bytes, static_cast<uint32_t>(bytes), to};
      to += bytes;
    }
    queue.read(file, pieces);
  };
  return measure_rate(
      {.seconds = measurement.seconds, .first = std::min<uint64_t>(most, 16), .most = most}, read);
}

void measure_disk(const std::filesystem::path& path, memory::Ledger& ledger, Machine& machine) {
  const io::RowFile file = io::open_rows(path);
  const auto queue = io::ReadQueue::open(ledger);
  const uint64_t bytes = std::clamp(ledger.available_bytes() / 4, kLeastAreaBytes, kMostAreaBytes);
  const memory::Buffer<std::byte> area(ledger, "calibration", bytes);
  std::ranges::fill(area.span(), std::byte{1});  // so that no read waits for a fresh page
  machine.read_method = queue->method();
  machine.read_bytes = std::max(file.alignment, kSectorBytes);
  machine.reads_per_second = read_rate(*queue, file, {machine.read_bytes}, area.span());
  const double alone = read_rate(*queue, file, {machine.read_bytes, 1, 0.1}, area.span());
  machine.read_seconds = alone > 0 ? 1 / alone : 0;
  const uint64_t large_bytes = std::min(io::kStreamBytes, readable_bytes(file));
  machine.read_bytes_per_second =
      read_rate(*queue, file, {large_bytes}, area.span()) * static_cast<double>(large_bytes);
}

}  // namespace

bool Machine::was_busy() const {
  return spoils(other_load, std::max(1U, std::thread::hardware_concurrency()));
}

Machine calibrate(const std::filesystem::path& file, unsigned threads,
                  const MeasureSteps& measure_steps, memory::Ledger& ledger,
                  const memory::Host& host) {
  Machine machine{.threads = threads};
  const OtherLoad others(host);
  if (!file.empty()) measure_disk(file, ledger, machine);
  machine.making = measure_making(threads, ledger);
  if (measure_steps) {
    // As a training divides them: half make batches meanwhile.
    const unsigned computing = std::max(1U, threads - threads / 2);
    const BusyMakers busy(threads - computing, ledger);
    machine.step = measure_steps(computing, ledger);
  }
  machine.other_load = others.cores();
  return machine;
}

}  // namespace plimsoll::plan
