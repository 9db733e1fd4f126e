#include "gpu/cold_rows.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "gpu/network.h"
#include "graph/meta.h"

namespace plimsoll::gpu {
namespace {

constexpr uint32_t kBits = 32;
constexpr uint64_t kSteps = 16;  // a window is marked in about so many

uint64_t words_of(uint64_t rows) { return rows / kBits + 1; }

}  // namespace

uint64_t ColdRows::host_bytes(uint64_t nodes, uint64_t cold_rows, const ColdOptions& options) {
  using Words = memory::Buffer<uint32_t>;
  return kWindows * memory::Buffer<std::byte>::bytes_needed(options.window_bytes) +
         memory::IndexSet::bytes_needed(nodes) + Words::bytes_needed(words_of(cold_rows)) +
         Words::bytes_needed(cold_rows) + io::BulkReader::bytes_needed(options.reading);
}

uint64_t ColdRows::device_bytes(uint64_t cold_rows) {
  return Array<uint32_t>::bytes_needed(words_of(cold_rows)) +
         Array<uint32_t>::bytes_needed(cold_rows) + Array<ColdPlace>::bytes_needed(1);
}

ColdRows::ColdRows(const graph::Store& store, Accelerator& device, memory::Ledger& host,
                   const ColdOptions& options)
    : device_(device),
      first_(options.first_row),
      count_(store.meta().nodes - options.first_row),
      row_bytes_(store.meta().row_bytes),
      most_rows_(options.window_bytes / row_bytes_),
      file_(io::open_rows(store.features_file())),
      reader_(host, options.reading),
      wanted_(host, store.meta().nodes, "windows"),
      marks_(host, "windows", words_of(count_)),
      slots_(host, "windows", count_),
      device_marks_(device, "windows", words_of(count_)),
      device_slots_(device, "windows", count_),
      place_(device, "windows", 1) {
  for (Window& window : windows_) {
    window.rows = memory::Pages(host, "windows", options.window_bytes);
    window.revealed = {device, window.rows.data(), window.rows.bytes()};
  }
}

ColdRows::~ColdRows() {
  if (reading_.valid()) reading_.wait();
}

io::ReadQueue::Counts ColdRows::reads() const {
  if (reading_.valid()) reading_.wait();
  return reader_.counts();
}

std::string ColdRows::method() const {
  if (reading_.valid()) reading_.wait();
  return reader_.method();
}

void ColdRows::begin(Network& network, uint64_t first, uint64_t last) {
  if (reading_.valid()) reading_.wait();
  reading_ = {};
  network_ = &network;
  last_ = last;
  windows_[current_].first = windows_[current_].last = first;
  read_next();
}

void ColdRows::prepare(uint64_t batch) {
  if (batch < windows_[current_].last) return;
  const auto asked = std::chrono::steady_clock::now();
  reading_.get();
  waited_seconds_ += seconds_since(asked);
  current_ = 1 - current_;
  const Window& window = windows_[current_];
  // Both wait until the window before is computed.
  device_.upload(device_slots_.data(), slots_.data(), count_ * sizeof(uint32_t));
  const ColdPlace place = {static_cast<const uint8_t*>(window.revealed.data()),
                           device_slots_.data()};
  place_.upload(&place, 1);
  if (window.last < last_) read_next();
}

// Adds the GPU's marks to those of the window. False if it would be too large; it is then as
// before.
bool ColdRows::add_marks() {
  device_.download(marks_.data(), device_marks_.data(), marks_.size() * sizeof(uint32_t));
  uint64_t added = 0;
  const auto for_new = [&](const auto& take) {
    for (uint64_t word = 0; word < marks_.size(); ++word) {
      for (uint32_t bits = marks_[word]; bits != 0; bits &= bits - 1) {
        const uint64_t row = first_ + word * kBits + static_cast<uint32_t>(std::countr_zero(bits));
        if (!wanted_.has(row)) take(row);
      }
    }
  };
  for_new([&](uint64_t /*row*/) { ++added; });
  if (wanted_.size() + added > most_rows_) return false;
  for_new([&](uint64_t row) { wanted_.add(row); });
  wanted_.count();
  return true;
}

// As many batches as fit into a window.
void ColdRows::mark_next() {
  Window& next = windows_[1 - current_];
  next.first = next.last = windows_[current_].last;
  wanted_.clear();
  wanted_.count();
  while (next.last < last_) {
    const uint64_t batches = std::min(marked_together_, last_ - next.last);
    device_.clear(device_marks_.data(), marks_.size() * sizeof(uint32_t));
    network_->mark(next.last, batches, device_marks_.data());
    if (add_marks()) {
      next.last += batches;
      continue;
    }
    if (next.last > next.first) break;
    if (batches == 1) {
      fail(ErrorKind::memory,
           "batch {} needs more rows from disk than a window of {} holds; raise --memory, or lower "
           "--batch-size or --fanout",
           next.last + 1, format_bytes(most_rows_ * row_bytes_));
    }
    marked_together_ = (batches + 1) / 2;
  }
  marked_together_ = std::max<uint64_t>(1, (next.last - next.first) / kSteps);
}

void ColdRows::read_next() {
  mark_next();
  ++window_count_;
  window_batches_ += windows_[1 - current_].last - windows_[1 - current_].first;
  rows_read_ += wanted_.size();
  auto* const rows = static_cast<std::byte*>(windows_[1 - current_].rows.data());
  reading_ = std::async(std::launch::async, [this, rows] {
    reader_.read(file_, wanted_, static_cast<uint32_t>(row_bytes_),
                 [&](uint64_t row, uint64_t rank, const std::byte* bytes) {
                   std::memcpy(rows + rank * row_bytes_, bytes, row_bytes_);
                   slots_[row - first_] = static_cast<uint32_t>(rank);
                 });
  });
}

}  // namespace plimsoll::gpu
