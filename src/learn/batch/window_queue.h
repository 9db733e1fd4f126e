// The windows of a pass: which are free, which hold batches that are not made yet, and how many
// batches the next one gets. For one thread at a time; the pipeline guards it with its mutex.
//
// The first windows may be small, so that the trainer does not wait long for its first batch. Full
// windows of a pass are equally large: the last one is as dense as the others. Windows shrink if
// their memory is refused, and grow again slowly.
//
// While the last batches of a pass are made, the first window of the next pass can be filled: the
// disk does not wait for the end of the pass.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "batch/window.h"

namespace plimsoll::batch {

class WindowQueue {
 public:
  struct Entry {
    Entry(const feature::RowSource& rows, memory::Ledger& ledger) : window(rows, ledger) {}
    Window window;
    uint64_t wanted = 0;  // how many batches it should get
    uint64_t unmade = 0;  // how many of its batches are not made yet
  };

  // Rows and ledger must outlive it.
  WindowQueue(const feature::RowSource& rows, const WindowOptions& options, memory::Ledger& ledger)
      : rows_(rows), options_(options), ledger_(ledger) {}

  // Begins a pass over the batches from `first` up to `batch_count`, with or without windows. The
  // next pass with windows gets the memory of this one's rows: the kernel clears every fresh page.
  // With `keeps_ahead`, the window that was filled ahead is the first of this pass.
  struct Batches {
    uint64_t first = 0;
    uint64_t count = 0;  // of the pass, those before `first` included
  };
  void begin(const Batches& batches, bool in_use, bool keeps_ahead);
  // Whether more windows will be made. Ends if there is no memory for them.
  bool in_use() const { return next_count_ > 0; }
  // Batches before this one are in windows, or made, or will be made without a window.
  uint64_t end() const { return end_; }
  void skip_to(uint64_t batch);

  bool can_take() const { return !free_.empty() || open_.size() < kWindows; }
  // Whether batches are left that are in no window.
  bool has_more() const { return end_ < batch_count_; }
  // A free window for the batches from end() on. Null if there is no memory for it.
  std::unique_ptr<Entry> take();
  // The window was filled; it has fewer batches than wanted if their rows did not fit.
  void open(std::unique_ptr<Entry> entry);
  // Its memory was refused. The next window is smaller, or its batches go without a window.
  void refused(std::unique_ptr<Entry> entry);

  // A free window for the first batches of the next pass, and what becomes of it. Only if this pass
  // has no more windows to fill; the memory is that of a window of this pass.
  std::unique_ptr<Entry> take_ahead(const Batches& next);
  void keep_ahead(std::unique_ptr<Entry> entry) { ahead_ = std::move(entry); }

  // The window that has the batch, or null.
  Entry* find(uint64_t batch) const;
  // One of its batches was made or refused.
  void batch_ended(Entry& entry);

  // Drops all windows; those of batches from `next_to_make` on will be made again, smaller if
  // there were any.
  void drop(uint64_t next_to_make);

 private:
  uint64_t full_window(const Batches& batches) const;
  std::unique_ptr<Entry> free_entry();
  void shrink();

  const feature::RowSource& rows_;
  const WindowOptions options_;
  memory::Ledger& ledger_;
  std::vector<std::unique_ptr<Entry>> free_;
  std::deque<std::unique_ptr<Entry>> open_;  // in the order of their batches
  std::unique_ptr<Entry> ahead_;             // the first window of the next pass, filled
  uint64_t end_ = 0;
  uint64_t batch_count_ = 0;
  uint64_t most_batches_ = 1;  // of a window in this pass
  uint64_t next_count_ = 0;    // batches of the next window; 0 = no more windows
  bool shrunk_ = false;        // windows had to shrink in this pass
  uint64_t refusals_ = 0;      // of the smallest windows, in a row
};

}  // namespace plimsoll::batch
