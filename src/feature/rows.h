// A store's feature rows, resident in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "graph/store.h"
#include "kernel/kernels.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::feature {

class ResidentRows {
 public:
  ResidentRows(memory::Buffer<std::byte> bytes, kernel::Rows shape);

  const kernel::Rows& rows() const { return rows_; }

 private:
  memory::Buffer<std::byte> bytes_;
  kernel::Rows rows_;
};

ResidentRows load_rows(const graph::Store& store, memory::Ledger& ledger, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::feature
