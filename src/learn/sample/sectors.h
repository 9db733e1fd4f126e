// Reads scattered parts of a file together: many threads say which bytes they want, the sectors
// that hold them are read once, in the order of the file, and each thread takes its values.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "io/bulk_reader.h"
#include "io/file.h"
#include "io/lined_file.h"
#include "memory/buffer.h"
#include "memory/index_set.h"
#include "memory/ledger.h"

namespace plimsoll::sample {

// Wanted sectors of a file. They may take more than the room: the file is then read in ranges that
// fit.
class Sectors {
 public:
  Sectors(const io::LinedFile& file, uint64_t room_bytes, memory::Ledger& ledger)
      : file_(file),
        sector_bytes_(std::bit_ceil(std::max(io::kSectorBytes, file.file().alignment))),
        shift_(std::countr_zero(sector_bytes_)),
        most_(std::max<uint64_t>(room_bytes / sector_bytes_, 16)),
        wanted_(ledger, file.bytes() / sector_bytes_ + 1, "windows"),
        room_(ledger, "windows", most_ * sector_bytes_),
        counts_(kBuckets) {}

  static uint64_t bytes_needed(uint64_t file_bytes, uint64_t room_bytes) {
    return memory::IndexSet::bytes_needed(file_bytes / io::kSectorBytes + 1) +
           memory::Buffer<std::byte>::bytes_needed(std::max(room_bytes, 16 * io::kBlockBytes));
  }

  uint64_t sector_of(uint64_t byte) const { return byte >> shift_; }
  // The most sectors of one list: a longer one would leave no room for others.
  uint64_t most_of_one() const { return most_ / 4; }

  // First call expect() for every want, with its first byte and the most sectors that it may need.
  void begin() { std::ranges::fill(counts_, 0); }
  void expect(uint64_t byte, uint64_t sectors) {
    const std::atomic_ref<uint64_t> count(counts_[bucket_of(byte)]);
    count.fetch_add(sectors, std::memory_order_relaxed);
  }

  // Then, for every range: `mark` calls want() for all that begin in it; the sectors are read;
  // `use` finds them with at().
  struct Range {
    uint64_t first = 0;  // bytes of the file
    uint64_t last = 0;
    bool has(uint64_t byte) const { return byte >= first && byte < last; }
  };
  void for_each_range(io::BulkReader& reader, const std::function<void(const Range&)>& mark,
                      const std::function<void(const Range&)>& use) {
    for (uint64_t bucket = 0; bucket < kBuckets;) {
      uint64_t sectors = 0;
      const uint64_t first = bucket;
      while (bucket < kBuckets && (bucket == first || sectors + counts_[bucket] <= most_)) {
        sectors += counts_[bucket++];
      }
      if (sectors > 0) read_range({first_byte(first), first_byte(bucket)}, reader, mark, use);
    }
  }
  void want(uint64_t byte) { wanted_.add_shared(sector_of(byte)); }

  // The value at this byte, which does not cross a sector.
  template <typename T>
  T at(uint64_t byte) const {
    T value;
    std::memcpy(
        &value,
        room_.data() + (wanted_.rank(sector_of(byte)) << shift_) + (byte & (sector_bytes_ - 1)),
        sizeof value);
    return value;
  }

 private:
  static constexpr uint64_t kBuckets = 1024;  // parts of a file for which wants are counted

  uint64_t bucket_bytes() const { return file_.bytes() / kBuckets + 1; }
  uint64_t bucket_of(uint64_t byte) const { return byte / bucket_bytes(); }
  uint64_t first_byte(uint64_t bucket) const { return bucket * bucket_bytes(); }

  // A bucket can want more than fits; then its range is halved, down to a single list.
  void read_range(const Range& range, io::BulkReader& reader,
                  const std::function<void(const Range&)>& mark,
                  const std::function<void(const Range&)>& use) {
    wanted_.clear();
    mark(range);
    wanted_.count();
    if (wanted_.size() > most_) {
      const uint64_t middle = range.first + (range.last - range.first) / 2;
      read_range({range.first, middle}, reader, mark, use);
      read_range({middle, range.last}, reader, mark, use);
      return;
    }
    reader.read(file_.file(), wanted_, static_cast<uint32_t>(sector_bytes_),
                [&](uint64_t sector, uint64_t rank, const std::byte* bytes) {
                  const uint64_t left = file_.bytes() - sector * sector_bytes_;
                  std::memcpy(room_.data() + rank * sector_bytes_, bytes,
                              std::min(sector_bytes_, left));
                });
    use(range);
  }

  const io::LinedFile& file_;
  const uint64_t sector_bytes_;
  const int shift_;
  const uint64_t most_;
  memory::IndexSet wanted_;
  memory::Buffer<std::byte> room_;
  std::vector<uint64_t> counts_;
};

}  // namespace plimsoll::sample
