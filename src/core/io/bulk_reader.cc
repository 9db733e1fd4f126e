#include "io/bulk_reader.h"

#include <algorithm>
#include <atomic>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "memory/growing.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kPartsAThread = 8;      // so that all threads end at about the same time
constexpr uint64_t kLeastPartItems = 512;  // fewer are not worth a thread

}  // namespace

Extent ReadRules::around(const Extent& wanted) const {
  const uint64_t begin = wanted.offset / alignment * alignment;
  const uint64_t end = (wanted.end() + alignment - 1) / alignment * alignment;
  return {begin, end - begin};
}

bool ReadRules::joins(const Extent& open, const Extent& next) const {
  if (next.offset < open.end()) return true;  // they share a sector
  if (std::max(open.end(), next.end()) - open.offset > most_bytes) return false;
  return next.offset - open.end() <= price.widest_gap_bytes();
}

std::vector<Extent> plan_reads(const ReadRules& rules, std::span<const Extent> wanted) {
  std::vector<Extent> requests;
  for (const Extent& part : wanted) {
    const Extent sectors = rules.around(part);
    if (!requests.empty() && rules.joins(requests.back(), sectors)) {
      Extent& open = requests.back();
      open.bytes = std::max(open.end(), sectors.end()) - open.offset;
    } else {
      requests.push_back(sectors);
    }
  }
  return requests;
}

class BulkReader::Reader {
 public:
  Reader(memory::Ledger& ledger, const BulkOptions& options)
      : options_(options),
        queue_(ReadQueue::open(ledger, options.reading.method, options.reading.depth)),
        pieces_(ledger, "reading"),
        room_(ledger, "reading") {}

  static uint64_t bytes_needed(const BulkOptions& options) {
    return memory::Growing<Piece>::renewed_bytes(options.reading.room_bytes / kSectorBytes + 1) +
           memory::Growing<std::byte>::renewed_bytes(options.reading.room_bytes) + kQueueBytes;
  }

  struct Part {
    uint64_t first_rank = 0;
    uint64_t last_rank = 0;
  };
  void read(const RowFile& file, const memory::IndexSet& items, uint32_t item_bytes,
            const Part& part, const Take& take) {
    const ReadRules rules = {.price = options_.price, .alignment = file.alignment};
    room_.renew(std::max(options_.reading.room_bytes, item_bytes + 2 * file.alignment));
    pieces_.renew(options_.reading.room_bytes / kSectorBytes + 1);
    uint64_t item = items.at(part.first_rank);
    for (uint64_t rank = part.first_rank; rank < part.last_rank;) {
      throw_if_interrupted();
      const uint64_t first = item;
      uint64_t count = 0;
      uint64_t used = 0;
      piece_count_ = 0;
      for (; rank + count < part.last_rank; ++count, item = items.next(item + 1)) {
        const Extent wanted = {item * item_bytes, item_bytes};
        if (!place(rules.around(cut(wanted, file)), rules, used)) break;
      }
      queue_->read(file, pieces_.first(piece_count_));
      hand_over(items, item_bytes, first, {rank, rank + count}, take);
      rank += count;
    }
  }

  ReadQueue& queue() { return *queue_; }

 private:
  static Extent cut(const Extent& wanted, const RowFile& file) {
    return {wanted.offset, std::min(wanted.end(), file.size_bytes) - wanted.offset};
  }

  // False if the room is full.
  bool place(const Extent& sectors, const ReadRules& rules, uint64_t& used) {
    if (piece_count_ > 0) {
      Piece& last = pieces_[piece_count_ - 1];
      const Extent open = {last.offset, last.bytes};
      if (rules.joins(open, sectors)) {
        const uint64_t more = std::max(open.end(), sectors.end()) - open.end();
        if (used + more > room_.capacity()) return false;
        last.bytes += static_cast<uint32_t>(more);
        used += more;
        return true;
      }
    }
    if (used + sectors.bytes > room_.capacity() || piece_count_ == pieces_.capacity()) return false;
    pieces_[piece_count_++] = {sectors.offset, static_cast<uint32_t>(sectors.bytes),
                               room_.data() + used};
    used += sectors.bytes;
    return true;
  }

  void hand_over(const memory::IndexSet& items, uint32_t item_bytes, uint64_t first,
                 const Part& part, const Take& take) const {
    uint64_t piece = 0;
    uint64_t item = first;
    for (uint64_t rank = part.first_rank; rank < part.last_rank; ++rank) {
      const uint64_t offset = item * item_bytes;
      while (offset >= pieces_[piece].offset + pieces_[piece].bytes) ++piece;
      take(item, rank, pieces_[piece].to + (offset - pieces_[piece].offset));
      item = items.next(item + 1);
    }
  }

  const BulkOptions& options_;
  std::unique_ptr<ReadQueue> queue_;
  memory::Growing<Piece> pieces_;
  uint64_t piece_count_ = 0;
  memory::Growing<std::byte> room_;
};

BulkReader::BulkReader(memory::Ledger& ledger, const BulkOptions& options)
    : ledger_(ledger), options_(options) {}
BulkReader::~BulkReader() = default;

uint64_t BulkReader::bytes_needed(const BulkOptions& options) {
  return options.threads * Reader::bytes_needed(options);
}

void BulkReader::read(const RowFile& file, const memory::IndexSet& items, uint32_t item_bytes,
                      const Take& take) {
  if (items.size() == 0) return;
  const uint64_t most_parts = std::max<uint64_t>(1, items.size() / kLeastPartItems);
  const uint64_t parts = std::min<uint64_t>(most_parts, kPartsAThread * options_.threads);
  const auto threads = static_cast<unsigned>(std::min<uint64_t>(parts, options_.threads));
  while (readers_.size() < threads) {
    readers_.push_back(std::make_unique<Reader>(ledger_, options_));
  }
  if (method_.empty()) method_ = readers_.front()->queue().method();
  std::atomic<size_t> next_reader = 0;
  std::atomic<uint64_t> next_part = 0;
  run_team(threads, [&](Team& team) {
    Reader& reader = *readers_[next_reader++];
    for (uint64_t i = next_part++; i < parts && !team.stopping(); i = next_part++) {
      reader.read(file, items, item_bytes,
                  {items.size() * i / parts, items.size() * (i + 1) / parts}, take);
    }
  });
}

void BulkReader::release() {
  released_ = counts();
  readers_.clear();
}

ReadQueue::Counts BulkReader::counts() const {
  ReadQueue::Counts all = released_;
  for (const auto& reader : readers_) all += reader->queue().counts();
  return all;
}

std::string BulkReader::method() const { return method_; }

}  // namespace plimsoll::io
