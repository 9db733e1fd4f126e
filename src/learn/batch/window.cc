#include "batch/window.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll::batch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLeastListBytes = uint64_t{1} << 20;
constexpr uint64_t kMostListBytes = uint64_t{64} << 20;
constexpr uint64_t kListPart = 16;  // parts of lists get 1/16 of what rows get
constexpr size_t kPrefetched = 16;  // rows whose bits are loaded ahead

}  // namespace

Window::Window(const feature::RowSource& rows, memory::Ledger& ledger)
    : source_(rows), read_(ledger, rows.shape().count, "windows") {}

sample::JointSampler::Options WindowMaker::sampler_options(const Options& options) {
  return {
      .sampling = options.sampling,
      .reading = {.price = options.window.price},
      .threads = options.window.threads,
      .room_bytes = std::clamp(options.window.bytes / kListPart, kLeastListBytes, kMostListBytes)};
}

WindowMaker::WindowMaker(const sample::Topology& topology, const feature::RowSource& rows,
                         const Options& options, memory::Ledger& ledger)
    : rows_(rows),
      options_(options),
      ledger_(ledger),
      sampler_(topology, sampler_options(options), ledger) {}

void WindowMaker::release() {
  sampler_.release();
  drafts_.clear();
}

// As many as fit behind the beginning of an area, which need not be at the beginning of a row.
uint64_t WindowMaker::most_rows() const {
  const uint64_t row_bytes = rows_.shape().row_bytes;
  return options_.window.bytes < 2 * row_bytes ? 0 : options_.window.bytes / row_bytes - 1;
}

void WindowMaker::make(Window& window, uint64_t first, uint64_t count, const Begin& begin) {
  const Clock::time_point start = Clock::now();
  window.first = first;
  window.count = count;
  const size_t hops = options_.sampling.fanout.size();
  while (drafts_.size() < count) drafts_.emplace_back(ledger_);
  while (window.neighborhoods.size() < count) {
    window.neighborhoods.emplace_back(ledger_, hops, options_.pages);
  }
  for (uint64_t i = 0; i < count; ++i) {
    drafts_[i].out = &window.neighborhoods[i];
    drafts_[i].key = begin(first + i, window.neighborhoods[i]);
  }
  sampler_.sample(std::span(drafts_).first(count));
  const Clock::time_point sampled = Clock::now();
  // A lease may lower the line, and more rows are wanted then.
  bool leased = false;
  uint64_t resident = 0;
  do {
    resident = resident_rows();
    want_rows(window, resident);
    leased = lease_rows(window);
  } while (leased && resident_rows() < resident);
  if (!leased) {
    // The rows are read by those who make the batches.
    window.read_.clear();
    window.read_.count();
  }
  const uint64_t row_bytes = rows_.shape().row_bytes;
  if (window.rows() > 0) {
    sampler_.reader().read(rows_.file().file(), window.read_, static_cast<uint32_t>(row_bytes),
                           [&](uint64_t /*row*/, uint64_t rank, const std::byte* bytes) {
                             std::memcpy(window.values_ + rank * row_bytes, bytes, row_bytes);
                           });
  }
  times_.sample += std::chrono::duration<double>(sampled - start).count();
  times_.read += std::chrono::duration<double>(Clock::now() - sampled).count();
}

uint64_t WindowMaker::resident_rows() const {
  return rows_.file().line_bytes() / rows_.shape().row_bytes;
}

// The rows of as many batches as fit.
void WindowMaker::want_rows(Window& window, uint64_t resident) const {
  const uint64_t fitting = add_rows(window, resident);
  if (fitting == window.count) return;
  const bool too_large = fitting == 0;  // one batch alone; it keeps the rows that fit
  window.count = std::max<uint64_t>(1, fitting);
  if (!too_large) add_rows(window, resident);
}

// Batch by batch, until a row does not fit. Returns how many batches have all of their rows.
uint64_t WindowMaker::add_rows(Window& window, uint64_t resident) const {
  window.read_.clear();
  const uint64_t most = most_rows();
  uint64_t wanted = 0;
  const auto add_batch = [&](const sample::Neighborhood& batch) {
    const auto nodes = batch.nodes.first(batch.node_count());
    for (size_t i = 0; i < nodes.size(); ++i) {
      window.read_.prefetch(rows_.row_of(nodes[std::min(i + kPrefetched, nodes.size() - 1)]));
      const uint64_t row = rows_.row_of(nodes[i]);
      if (row < resident || window.read_.has(row)) continue;
      if (wanted == most) return false;
      window.read_.add(row);
      ++wanted;
    }
    return true;
  };
  uint64_t fitting = resident >= rows_.shape().count ? window.count : 0;
  while (fitting < window.count && add_batch(window.neighborhoods[fitting])) ++fitting;
  window.read_.count();
  return fitting;
}

// False if the ledger has no memory for them.
bool WindowMaker::lease_rows(Window& window) {
  const uint64_t row_bytes = rows_.shape().row_bytes;
  const uint64_t needed = (window.rows() + 1) * row_bytes;
  const uint64_t has = window.area_ ? window.area_->memory().size() : 0;
  if (window.rows() == 0 || has >= needed) return true;
  const uint64_t more =
      (needed - has + memory::kPageBytes - 1) / memory::kPageBytes * memory::kPageBytes;
  std::optional<memory::Lease> lease = ledger_.try_lease("windows", more);
  if (!lease) return false;
  if (window.area_) {
    window.area_->extend(std::move(*lease));
    return true;
  }
  window.area_.emplace(rows_.file(), std::move(*lease));
  const io::LinedFile::Use use(rows_.file());
  const auto begin = static_cast<uint64_t>(window.area_->memory().data() - use.data);
  window.first_place_ = (begin + row_bytes - 1) / row_bytes;
  window.values_ = window.area_->memory().data() + (window.first_place_ * row_bytes - begin);
  if (window.first_place_ + most_rows() >= UINT32_MAX - 1) {
    fail(ErrorKind::internal, "rows of {} reach beyond 32-bit numbers", row_bytes);
  }
  return true;
}

}  // namespace plimsoll::batch
