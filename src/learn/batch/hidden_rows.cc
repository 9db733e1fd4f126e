#include "batch/hidden_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "graph/meta.h"
#include "io/file.h"

namespace plimsoll::batch {
namespace {

constexpr uint64_t kSparePart = 4;  // leave at least 1/4 of the available memory for batches
constexpr uint64_t kBlock = 4 * kMiB;

}  // namespace

uint64_t HiddenRows::least_bytes() { return memory::Buffer<std::byte>::bytes_needed(kBlock); }

HiddenRows::HiddenRows(const memory::IndexSet& set, const Options& options, memory::Ledger& ledger)
    : ledger_(ledger),
      set_(set),
      batches_bytes_(options.spare_bytes),
      shape_{.row_bytes = graph::padded_row_bytes(graph::FeatureType::f32, options.columns),
             .count = set.size(),
             .columns = options.columns} {
  const uint64_t bytes = shape_.count * shape_.row_bytes;
  const std::filesystem::path& folder = options.folder;
  if (spare_bytes() >= bytes) {
    resident_ = memory::Buffer<std::byte>(ledger, "hidden rows", bytes);
    return;
  }
  const uint64_t free_bytes = io::disk_of(folder).free_bytes;
  if (free_bytes < bytes) {
    fail(ErrorKind::disk,
         "evaluating with all neighbours keeps {} of hidden values in {}, which has {} free; use "
         "--eval sampled, or a --save-dir on a larger disk",
         format_bytes(bytes), folder.string(), format_bytes(free_bytes));
  }
  file_.emplace(io::TempPlace{.folder = folder});
  block_ = memory::Buffer<std::byte>(ledger, "hidden rows", kBlock);
}

// How much of the available memory rows may take.
uint64_t HiddenRows::spare_bytes() const {
  const uint64_t available = ledger_.available_bytes();
  return available - std::min(available, std::max(batches_bytes_, available / kSparePart));
}

void HiddenRows::append(const float* rows, uint64_t count) {
  const uint64_t values = shape_.columns * sizeof(float);
  for (uint64_t i = 0; i < count; ++i) {
    const auto* row = reinterpret_cast<const std::byte*>(rows + i * shape_.columns);
    if (!file_) {
      std::memcpy(resident_.data() + filled_bytes_, row, values);
      filled_bytes_ += shape_.row_bytes;
      continue;
    }
    for (uint64_t done = 0; done < shape_.row_bytes;) {
      const uint64_t piece = std::min(shape_.row_bytes - done, kBlock - filled_bytes_);
      const uint64_t copied = done < values ? std::min(piece, values - done) : 0;
      std::memcpy(block_.data() + filled_bytes_, row + done, copied);
      std::memset(block_.data() + filled_bytes_ + copied, 0, piece - copied);
      filled_bytes_ += piece;
      done += piece;
      if (filled_bytes_ == kBlock) write_block();
    }
  }
}

void HiddenRows::write_block() {
  const uint64_t bytes = io::round_up_to_block(filled_bytes_);
  file_->write(block_.first(bytes), written_bytes_);
  written_bytes_ += bytes;
  filled_bytes_ = 0;
}

const feature::RowSource& HiddenRows::finish(const Readers& readers) {
  if (!file_) {
    shape_.data = reinterpret_cast<const unsigned char*>(resident_.data());
    return source_.emplace(shape_, &set_);
  }
  if (filled_bytes_ > 0) write_block();
  block_ = {};
  source_.emplace(feature::RowSource::File{.path = file_->path(),
                                           .shape = shape_,
                                           .areas = readers.count,
                                           .area_bytes = readers.area_bytes,
                                           .windows = readers.windows,
                                           .window_bytes = readers.window_bytes,
                                           .set = &set_,
                                           .tag = "hidden rows"},
                  ledger_);
  source_->file().raise(spare_bytes(), readers.count, [](std::span<const std::byte>) {});
  reclaimer_ = ledger_.on_shortage([this](uint64_t bytes) { source_->file().lower_by(bytes); });
  return *source_;
}

}  // namespace plimsoll::batch
