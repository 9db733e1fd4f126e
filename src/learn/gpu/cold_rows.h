// The rows of a store for which neither the GPU's memory nor the host's has room. They are read in
// windows of batches: the GPU draws these batches ahead and marks the rows that they want; the host
// reads each of these rows once, in the order of the file, while the GPU computes the window
// before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>

#include "gpu/accelerator.h"
#include "graph/store.h"
#include "io/bulk_reader.h"
#include "io/random_read.h"
#include "memory/buffer.h"
#include "memory/index_set.h"
#include "memory/ledger.h"

namespace plimsoll::gpu {

class Network;

struct ColdOptions {
  uint64_t first_row = 0;     // of the rows on disk
  uint64_t window_bytes = 0;  // for the rows of one window; there are two
  io::BulkOptions reading;
};

// For one thread. Must end before the accelerator and both ledgers.
class ColdRows {
 public:
  ColdRows(const graph::Store& store, Accelerator& device, memory::Ledger& host,
           const ColdOptions& options);
  ColdRows(const ColdRows&) = delete;
  ColdRows& operator=(const ColdRows&) = delete;
  ~ColdRows();

  // Where the GPU finds the rows of the current window.
  const ColdPlace* place() const { return place_.data(); }
  uint32_t first() const { return static_cast<uint32_t>(first_); }

  // Begins a pass of the network that has just begun there, over batches `first` to `last` - 1.
  void begin(Network& network, uint64_t first, uint64_t last);
  // Call before each batch, in order: its rows are then where the GPU finds them. Throws
  // Error{memory} if a batch wants more rows than a window holds.
  void prepare(uint64_t batch);

  uint64_t windows() const { return window_count_; }
  uint64_t window_batches() const { return window_batches_; }  // of all windows together
  uint64_t rows_read() const { return rows_read_; }
  double waited_seconds() const { return waited_seconds_; }  // of prepare(), for the disk
  // Both wait for the window that is being read.
  io::ReadQueue::Counts reads() const;
  std::string method() const;

  // What it takes for a store of so many nodes, the last `cold_rows` of which are on disk.
  static uint64_t host_bytes(uint64_t nodes, uint64_t cold_rows, const ColdOptions& options);
  static uint64_t device_bytes(uint64_t cold_rows);

 private:
  static constexpr size_t kWindows = 2;

  struct Window {
    memory::Pages rows;
    Revealed revealed;   // all of `rows`
    uint64_t first = 0;  // of its batches
    uint64_t last = 0;
  };
  void mark_next();
  void read_next();
  bool add_marks();

  Accelerator& device_;
  const uint64_t first_;
  const uint64_t count_;
  const uint64_t row_bytes_;
  const uint64_t most_rows_;  // of a window
  io::RowFile file_;
  io::BulkReader reader_;
  std::array<Window, kWindows> windows_;
  size_t current_ = 0;
  memory::IndexSet wanted_;         // rows of the next window
  memory::Buffer<uint32_t> marks_;  // as the GPU has set them
  memory::Buffer<uint32_t> slots_;  // of the next window's rows
  Array<uint32_t> device_marks_;
  Array<uint32_t> device_slots_;
  Array<ColdPlace> place_;
  Network* network_ = nullptr;
  uint64_t last_ = 0;             // of the pass
  uint64_t marked_together_ = 1;  // batches
  uint64_t window_count_ = 0;
  uint64_t window_batches_ = 0;
  uint64_t rows_read_ = 0;
  double waited_seconds_ = 0;
  std::future<void> reading_;  // of the next window
};

}  // namespace plimsoll::gpu
