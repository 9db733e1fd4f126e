#include "plan/calibration.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/units.h"
#include "io/file.h"
#include "io/random_read.h"
#include "memory/buffer.h"
#include "plan/making_rates.h"
#include "plan/measuring.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kMostAreaBytes = 32 * kMiB;
constexpr uint64_t kLeastAreaBytes = kMiB;
constexpr unsigned kMostQueues = 4;
constexpr unsigned kMakersPart = 8;  // of the threads of a training make batches

// The size of the file as reads see it: in whole sectors.
uint64_t readable_bytes(const io::RowFile& file) {
  return (file.size_bytes + file.alignment - 1) / file.alignment * file.alignment;
}

struct ReadMeasurement {
  uint64_t bytes = 0;         // of a read
  uint64_t at_once = 32'768;  // under way
  double seconds = 0.4;       // to measure for
};

// A new key, so that each calibration reads other positions. A host, a controller or a server may
// still cache those of the last one, and would be faster than the disk.
uint64_t elsewhere() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// Reads a second anywhere in the file; a file smaller than one is read whole.
double read_rate(io::ReadQueue& queue, const io::RowFile& file, const ReadMeasurement& measurement,
                 std::span<std::byte> area) {
  const uint64_t end = readable_bytes(file);
  const uint64_t bytes = std::min(measurement.bytes, end);
  if (bytes == 0) return 0;
  const RandomStream random(elsewhere(), bytes);
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

// By several queues, as workers have them: one may be bound by the thread that waits for it.
double reads_of_many(const io::RowFile& file, uint64_t bytes, unsigned count,
                     memory::Ledger& ledger, std::span<std::byte> area) {
  std::vector<std::unique_ptr<io::ReadQueue>> queues;
  for (unsigned i = 0; i < count; ++i) queues.push_back(io::ReadQueue::open(ledger));
  std::vector<double> rates(count);
  const size_t part = area.size() / count / bytes * bytes;
  parallel_for(count, count, [&](size_t i) {
    rates[i] = read_rate(*queues[i], file, {bytes}, area.subspan(i * part, part));
  });
  return std::reduce(rates.begin(), rates.end());
}

void measure_disk(const std::filesystem::path& path, unsigned threads, memory::Ledger& ledger,
                  Machine& machine) {
  const io::RowFile file = io::open_rows(path);
  const auto queue = io::ReadQueue::open(ledger);
  const uint64_t bytes = std::clamp(ledger.available_bytes() / 4, kLeastAreaBytes, kMostAreaBytes);
  const memory::Buffer<std::byte> area(ledger, "calibration", bytes);
  std::ranges::fill(area.span(), std::byte{1});  // so that no read waits for a fresh page
  machine.read_method = queue->method();
  machine.read_bytes = std::max(file.alignment, io::kSectorBytes);
  machine.reads_per_second = read_rate(*queue, file, {machine.read_bytes}, area.span());
  const unsigned queues = std::min(threads, kMostQueues);
  machine.most_reads_per_second =
      queues < 2 ? machine.reads_per_second
                 : std::max(machine.reads_per_second,
                            reads_of_many(file, machine.read_bytes, queues, ledger, area.span()));
  const double alone = read_rate(*queue, file, {machine.read_bytes, 1, 0.1}, area.span());
  machine.read_seconds = alone > 0 ? 1 / alone : 0;
  const uint64_t large_bytes = std::min(io::kStreamBytes, readable_bytes(file));
  machine.read_bytes_per_second =
      read_rate(*queue, file, {large_bytes}, area.span()) * static_cast<double>(large_bytes);
}

}  // namespace

Machine calibrate(const std::filesystem::path& file, unsigned threads,
                  const MeasureSteps& measure_steps, memory::Ledger& ledger, const Host& host) {
  Machine machine{.threads = threads};
  const OtherLoad others(host);
  if (!file.empty()) measure_disk(file, threads, ledger, machine);
  machine.making = measure_making(threads, ledger);
  if (measure_steps) {
    // As a training divides them.
    const unsigned makers = std::min(threads - 1, (threads + kMakersPart - 1) / kMakersPart);
    const BusyMakers busy(makers, ledger);
    machine.step = measure_steps(threads - makers, ledger);
  }
  machine.other_load = others.cores();
  return machine;
}

}  // namespace plimsoll::plan
