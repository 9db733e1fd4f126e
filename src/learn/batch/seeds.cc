#include "batch/seeds.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/random.h"
#include "io/file.h"

namespace plimsoll::batch {
namespace {

constexpr int kRounds = 10;  // with fewer, short lists are visibly not random

}  // namespace

Shuffle::Shuffle(uint64_t count, uint64_t key)
    : count_(count),
      key_(mix64(key)),
      half_bits_((static_cast<int>(std::bit_width(count | 3)) + 1) / 2) {}

uint64_t Shuffle::permute(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_;
  uint64_t right = x & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (mix64(key_ + right * kRounds + round) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t Shuffle::at(uint64_t i) const {
  uint64_t x = permute(i);
  while (x >= count_) x = permute(x);
  return x;
}

namespace {

constexpr uint64_t kLabelsAtOnce = 65536;

Split load_split(const graph::Store& store, memory::Ledger& ledger, const std::string& name,
                 uint64_t count) {
  const auto file = store.file("split." + name + ".u32");
  Split split{
      io::load_array<uint32_t>(ledger, "splits", file, count, 1, [](std::span<const uint32_t>) {}),
      memory::Buffer<int32_t>(ledger, "splits", count)};
  const auto nodes = split.nodes.span();
  const auto out_of_order = std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>());
  if (out_of_order != nodes.end() || (count > 0 && nodes.back() >= store.meta().nodes)) {
    fail(ErrorKind::store, "{}: positions are not ascending below {}; import the graph again",
         file.string(), store.meta().nodes);
  }
  return split;
}

// Copies the labels of those split nodes that are in [first, first + labels.size()). `done` counts
// the nodes of the split that have their label.
void take_labels(Split& split, uint64_t& done, uint64_t first, std::span<const int32_t> labels,
                 const graph::Store& store) {
  const uint64_t end = first + labels.size();
  for (; done < split.nodes.size() && split.nodes[done] < end; ++done) {
    const int32_t label = labels[split.nodes[done] - first];
    if (label < 0) {
      fail(ErrorKind::input,
           "{}: the node at position {} is in a split but has no label; a split may have only "
           "labelled nodes",
           store.folder().string(), split.nodes[done]);
    }
    if (static_cast<uint64_t>(label) >= store.meta().classes) {
      fail(ErrorKind::store, "{}: label {} is not one of {} classes; import the graph again",
           store.file("labels.i32").string(), label, store.meta().classes);
    }
    split.labels[done] = label;
  }
}

}  // namespace

uint64_t splits_bytes(uint64_t nodes) {
  constexpr uint64_t kArrays = 3 * 2;  // each ends within a page of its own
  return nodes * (sizeof(uint32_t) + sizeof(int32_t)) + kArrays * memory::kPageBytes;
}

uint64_t splits_loading_bytes() {
  return io::kStreamBytes + memory::Buffer<int32_t>::bytes_needed(kLabelsAtOnce);
}

Splits load_splits(const graph::Store& store, memory::Ledger& ledger) {
  const auto& sizes = store.meta().split_sizes;
  Splits splits{load_split(store, ledger, "train", sizes[0]),
                load_split(store, ledger, "valid", sizes[1]),
                load_split(store, ledger, "test", sizes[2])};
  const std::array<Split*, 3> all = {&splits.train, &splits.valid, &splits.test};
  std::array<uint64_t, 3> done = {};
  io::FileReader reader(ledger, store.file("labels.i32"));
  const memory::Buffer<int32_t> labels(ledger, "file buffers", kLabelsAtOnce);
  uint64_t first = 0;
  while (const size_t count = reader.read_values(labels.span())) {
    for (size_t i = 0; i < all.size(); ++i) {
      take_labels(*all[i], done[i], first, labels.first(count), store);
    }
    first += count;
  }
  return splits;
}

}  // namespace plimsoll::batch
