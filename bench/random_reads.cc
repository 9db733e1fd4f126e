// random_reads FILE: what the disk under a large file gives at random places, as a Markdown
// table: pieces of three sizes, by io_uring and by threads, with few and with many reads under
// way. The page cache has no part in it where the file system has O_DIRECT.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "bench_main.h"
#include "io/random_read.h"
#include "memory/buffer.h"
#include "memory/limit.h"

namespace plimsoll {
namespace {

constexpr double kSeconds = 1;  // of reading, for each line of the table
constexpr uint64_t kAreaBytes = 64 * kMiB;

double cpu_seconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Reads rounds of random pieces until the queue has been at it for long enough.
void measure(io::ReadQueue& queue, const io::RowFile& file, uint32_t bytes, unsigned depth,
             const memory::Buffer<std::byte>& area) {
  const RandomStream random(1, depth * uint64_t{bytes});
  const uint64_t places = file.size_bytes / bytes;
  std::vector<io::Piece> pieces(std::min<uint64_t>(area.size() / bytes, 32'768));
  uint64_t drawn = 0;
  double cpu = 0;
  while (queue.counts().seconds < kSeconds) {
    std::byte* to = area.data();
    for (io::Piece& piece : pieces) {
      piece = {below(random.at(drawn++), places) * bytes, bytes, to};
      to += bytes;
    }
    const double before = cpu_seconds();
    queue.read(file, pieces);
    cpu += cpu_seconds() - before;
  }
  const io::ReadQueue::Counts& counts = queue.counts();
  fmt::print(
      "| {} | {} | {} | {} | {:.0f} | {:.2f} |\n", format_bytes(bytes), depth, queue.method(),
      format_count(static_cast<uint64_t>(static_cast<double>(counts.reads) / counts.seconds)),
      static_cast<double>(counts.bytes) / counts.seconds / 1e6, cpu / counts.seconds);
}

int run(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "random_reads FILE\n");
    return 2;
  }
  const io::RowFile file = io::open_rows(argv[1]);
  memory::Ledger ledger(memory::detect_limit().bytes);
  const memory::Buffer<std::byte> area(ledger, "pieces", kAreaBytes);
  std::ranges::fill(area.span(), std::byte{1});  // so that no read waits for a fresh page
  fmt::print("{}: {}, {}\n\n", argv[1], format_bytes(file.size_bytes),
             file.file.direct ? fmt::format("O_DIRECT in multiples of {} bytes", file.alignment)
                              : "through the page cache, for want of O_DIRECT");
  fmt::print("| piece | depth | method | reads/s | MB/s | cores |\n|---|---|---|---|---|---|\n");
  for (const uint32_t bytes : {512U, 4096U, 65536U}) {
    if (bytes < file.alignment || bytes > file.size_bytes) continue;
    for (const unsigned depth : {32U, 256U}) {
      for (const auto method : {io::ReadMethod::automatic, io::ReadMethod::threads}) {
        const auto queue = io::ReadQueue::open(ledger, method, depth);
        measure(*queue, file, bytes, depth, area);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::bench_main("random_reads", plimsoll::run, argc, argv);
}
