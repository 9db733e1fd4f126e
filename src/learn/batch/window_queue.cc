#include "batch/window_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kRegrowPart = 8;    // after they had to shrink, windows grow by 1/8 at a time
constexpr uint64_t kLeastBatches = 2;  // if not even these fit, they have no window
constexpr uint64_t kMostRefusals = 8;  // of such windows in a row

}  // namespace

// Full windows of a pass are equally large.
uint64_t WindowQueue::full_window(const Batches& batches) const {
  const uint64_t left =
      std::max<uint64_t>(1, batches.count - std::min(batches.first, batches.count));
  const uint64_t windows = (left + options_.batches - 1) / options_.batches;
  return (left + windows - 1) / windows;
}

void WindowQueue::begin(const Batches& batches, bool in_use, bool keeps_ahead) {
  std::unique_ptr<Entry> ahead = std::move(ahead_);
  if (!in_use) free_.clear();
  for (auto& entry : open_) {
    if (in_use) free_.push_back(std::move(entry));
  }
  open_.clear();
  for (const auto& entry : free_) entry->window.neighborhoods.clear();
  end_ = batches.first;
  batch_count_ = batches.count;
  most_batches_ = full_window(batches);
  next_count_ = in_use ? std::clamp<uint64_t>(options_.first_batches, 1, most_batches_) : 0;
  shrunk_ = false;
  refusals_ = 0;
  if (!in_use || !ahead) return;
  if (keeps_ahead) {
    next_count_ = most_batches_;
    open(std::move(ahead));
  } else {
    ahead->window.neighborhoods.clear();
    free_.push_back(std::move(ahead));
  }
}

void WindowQueue::skip_to(uint64_t batch) { end_ = std::max(end_, batch); }

// Null if there is no memory for one.
std::unique_ptr<WindowQueue::Entry> WindowQueue::free_entry() {
  if (!free_.empty()) {
    std::unique_ptr<Entry> entry = std::move(free_.back());
    free_.pop_back();
    return entry;
  }
  try {
    return std::make_unique<Entry>(rows_, ledger_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory) throw;
    return nullptr;
  }
}

std::unique_ptr<WindowQueue::Entry> WindowQueue::take() {
  std::unique_ptr<Entry> entry = free_entry();
  if (!entry) {
    next_count_ = 0;
    return nullptr;
  }
  entry->window.first = end_;
  entry->wanted = std::min(next_count_, batch_count_ - end_);
  return entry;
}

std::unique_ptr<WindowQueue::Entry> WindowQueue::take_ahead(const Batches& next) {
  std::unique_ptr<Entry> entry = free_entry();
  if (!entry) return nullptr;
  entry->window.first = next.first;
  entry->wanted = std::min(full_window(next), next.count - next.first);
  return entry;
}

void WindowQueue::open(std::unique_ptr<Entry> entry) {
  const uint64_t count = entry->window.count;
  entry->unmade = count;
  end_ += count;
  refusals_ = 0;
  if (count < entry->wanted) {
    next_count_ = count;
    shrunk_ = true;
  } else {
    const uint64_t more = shrunk_ ? next_count_ / kRegrowPart + 1 : next_count_;
    next_count_ = std::min(most_batches_, next_count_ + more);
  }
  open_.push_back(std::move(entry));
}

void WindowQueue::refused(std::unique_ptr<Entry> entry) {
  if (entry->wanted <= kLeastBatches) end_ += entry->wanted;
  entry.reset();
  shrink();
}

WindowQueue::Entry* WindowQueue::find(uint64_t batch) const {
  for (const auto& entry : open_) {
    const uint64_t first = entry->window.first;
    if (batch >= first && batch - first < entry->window.count) return entry.get();
  }
  return nullptr;
}

void WindowQueue::batch_ended(Entry& entry) {
  if (--entry.unmade > 0) return;
  const auto found =
      std::ranges::find_if(open_, [&](const auto& open) { return open.get() == &entry; });
  free_.push_back(std::move(*found));
  open_.erase(found);
}

void WindowQueue::drop(uint64_t next_to_make) {
  if (!open_.empty()) shrink();
  open_.clear();
  free_.clear();
  ahead_.reset();
  end_ = next_to_make;
}

// Some batches are too large to be in a window with others; if that goes on, there is no memory
// for windows at all.
void WindowQueue::shrink() {
  if (next_count_ <= kLeastBatches && ++refusals_ == kMostRefusals) next_count_ = 0;
  next_count_ = (next_count_ + 1) / 2;
  shrunk_ = true;
  free_.clear();
}

}  // namespace plimsoll::batch
