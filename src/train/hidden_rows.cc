#include "train/hidden_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/units.h"
#include "graph/meta.h"
#include "io/disk.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kSpareBytes = 32 * kMiB;  // left for what batches still need
constexpr uint64_t kBlock = 4 * kMiB;

}  // namespace

HiddenRows::HiddenRows(const feature::NodeSet& set, uint32_t columns,
                       const std::filesystem::path& folder, memory::Ledger& ledger)
    : ledger_(ledger),
      set_(set),
      shape_{.row_bytes = graph::padded_row_bytes(graph::FeatureType::f32, columns),
             .count = set.size(),
             .columns = columns} {
  const uint64_t bytes = shape_.count * shape_.row_bytes;
  if (ledger.available_bytes() > bytes + kSpareBytes) {
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

const feature::RowSource& HiddenRows::finish(const plan::Arrangement& arrangement,
                                             unsigned threads) {
  if (!file_) {
    shape_.data = reinterpret_cast<const unsigned char*>(resident_.data());
    return source_.emplace(shape_, &set_);
  }
  if (filled_bytes_ > 0) write_block();
  block_ = {};
  source_.emplace(feature::RowSource::File{.path = file_->path(),
                                           .shape = shape_,
                                           .areas = arrangement.workers,
                                           .area_bytes = arrangement.area_bytes,
                                           .set = &set_,
                                           .tag = "hidden rows"},
                  ledger_);
  const uint64_t spare = ledger_.available_bytes();
  source_->file().raise(spare > kSpareBytes ? spare - kSpareBytes : 0, threads,
                        [](std::span<const std::byte>) {});
  reclaimer_ = ledger_.on_shortage([this](uint64_t bytes) { source_->file().lower_by(bytes); });
  return *source_;
}

}  // namespace plimsoll::train
