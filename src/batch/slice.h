// A part of a batch as a batch of its own: some of its seeds and what they need, with the same
// edges and weights. The gradients of the parts of a batch add up to the gradient of the whole,
// unless batch norm looks across its rows.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "batch/batch.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

// Owns what its batch shows.
class Slice {
 public:
  // The seeds first <= i < last of `whole`, which is not needed afterwards.
  Slice(const Batch& whole, uint32_t first, uint32_t last, memory::Ledger& ledger);

  const Batch& batch() const { return batch_; }

 private:
  // A leased copy that lives as long as the slice.
  template <typename T>
  std::span<T> room(uint64_t count);
  Block cut(const Block& whole, std::vector<uint32_t>& kept);
  Matrix pick(const Matrix& whole, std::span<const uint32_t> kept);

  memory::Ledger& ledger_;
  std::list<memory::Buffer<uint32_t>> words_;  // for floats, too: their bits
  Batch batch_;
};

}  // namespace plimsoll::batch
