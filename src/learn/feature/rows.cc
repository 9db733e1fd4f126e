#include "feature/rows.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "io/file.h"

namespace plimsoll::feature {
namespace {

uint64_t round_up_bytes(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace

// The row's sectors, at an offset that is a multiple of both the row's and the sector's size.
uint64_t RowSource::least_area_bytes(const RowShape& shape) {
  const uint64_t sector = io::kBlockBytes;
  return 2 * std::lcm(shape.row_bytes, sector) + round_up_bytes(shape.row_bytes, sector) + sector;
}

RowSource::RowSource(const kernel::Rows& rows, const memory::IndexSet* set)
    : shape_(rows),
      set_(set),
      file_(std::make_unique<io::LinedFile>(
          std::span(reinterpret_cast<const std::byte*>(rows.data), rows.count * rows.row_bytes))) {}

RowSource::RowSource(const File& file, memory::Ledger& ledger)
    : shape_(file.shape),
      set_(file.set),
      file_(std::make_unique<io::LinedFile>(
          ledger, file.tag, file.path,
          io::LinedFile::Shape{
              .bytes = file.shape.count * file.shape.row_bytes,
              .areas = file.areas,
              .area_bytes = std::max(file.area_bytes, least_area_bytes(file.shape)),
              .windows = file.windows,
              .window_bytes = file.window_bytes})) {}

RowSource load_rows(const graph::Store& store, memory::Ledger& ledger, const RowLayout& layout,
                    unsigned threads, const std::function<void(uint64_t bytes)>& on_bytes) {
  const graph::Meta& meta = store.meta();
  RowSource source({.path = store.features_file(),
                    .shape = {.row_bytes = meta.row_bytes,
                              .count = meta.nodes,
                              .columns = static_cast<uint32_t>(meta.feature_columns),
                              .half = meta.feature_type == graph::FeatureType::f16},
                    .areas = layout.areas,
                    .area_bytes = layout.area_bytes,
                    .windows = layout.windows,
                    .window_bytes = layout.window_bytes},
                   ledger);
  if (layout.shared) source.file().share(layout.line_bytes);
  source.file().raise(layout.line_bytes, threads,
                      [&](std::span<const std::byte> piece) { on_bytes(piece.size()); });
  return source;
}

// ---- one thread's access ----

namespace {

uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

// The most that one row takes in the area: its sectors, and padding up to a suitable offset.
uint64_t most_bytes_a_row(const RowSource& source) {
  const uint64_t row = source.shape().row_bytes;
  const uint64_t alignment = source.file().file().alignment;
  const bool fits = alignment % row == 0 || row % alignment == 0;
  return round_up(row, alignment) + (fits ? 0 : alignment + std::lcm(row, alignment));
}

}  // namespace

RowReader::RowReader(const RowSource& source, memory::Ledger& ledger)
    : source_(source), ledger_(ledger), wants_(ledger, "reading") {}

uint64_t RowReader::bytes_needed(uint64_t count, uint64_t row_bytes, uint64_t area_bytes) {
  const uint64_t area = std::max(area_bytes, RowSource::least_area_bytes({.row_bytes = row_bytes}));
  const uint64_t rows = area / round_up(row_bytes, io::kSectorBytes);
  return round_up(area, memory::kPageBytes) + memory::Growing<Want>::renewed_bytes(count) +
         memory::Buffer<io::Piece>::bytes_needed(rows);
}

void RowReader::prepare(uint64_t count) {
  wants_.renew(count);
  if (base_ != nullptr) return;
  step_ = std::lcm(source_.shape().row_bytes, source_.file().file().alignment);
  if (!area_) area_.emplace(source_.file(), "rows read");
  const std::span<std::byte> area = area_->memory();
  const auto begin = [&] {
    const io::LinedFile::Use use(source_.file());
    return static_cast<uint64_t>(area.data() - use.data);
  }();
  area_begin_ = round_up(begin, step_);
  area_end_ = begin + area.size();
  room_rows_ = (area_end_ - area_begin_) / most_bytes_a_row(source_);
  if (area_end_ / source_.shape().row_bytes >= UINT32_MAX) {
    fail(ErrorKind::internal, "rows of {} reach beyond 32-bit numbers", source_.shape().row_bytes);
  }
  pieces_ = memory::Buffer<io::Piece>(ledger_, "reading", room_rows_);
  base_ = area.data() - begin;
}

void RowReader::release() {
  base_ = nullptr;
  room_rows_ = 0;
  area_.reset();
  wants_.release();
  pieces_ = {};
}

RowReader::Access::Access(const RowReader& reader)
    : use_(reader.source_.file()),
      rows_(reader.source_.shape()),
      resident_rows_(use_.line_bytes / rows_.row_bytes),
      all_in_place_(reader.source_.set() == nullptr && all_resident()) {
  rows_.data = reinterpret_cast<const unsigned char*>(use_.data);
}

void RowReader::read(io::ReadQueue& queue) {
  if (count_ == 0) return;
  std::sort(wants_.data(), wants_.data() + count_,
            [](const Want& a, const Want& b) { return a.row < b.row; });
  const io::RowFile& file = source_.file().file();
  const uint64_t row_bytes = source_.shape().row_bytes;
  const uint64_t alignment = file.alignment;
  uint64_t pieces = 0;
  uint64_t next = area_begin_;  // from the base
  uint64_t piece_place = 0;
  for (uint64_t i = 0; i < count_; ++i) {
    const uint64_t offset = wants_[i].row * row_bytes;
    const uint64_t begin = offset / alignment * alignment;
    const uint64_t end = round_up(offset + row_bytes, alignment);
    io::Piece* last = pieces == 0 ? nullptr : &pieces_[pieces - 1];
    if (last != nullptr && begin <= last->offset + last->bytes) {
      const uint64_t more =
          std::max(end, last->offset + last->bytes) - (last->offset + last->bytes);
      last->bytes += static_cast<uint32_t>(more);
      next += more;
    } else {
      piece_place = round_up(next - begin % step_, step_) + begin % step_;
      last = &pieces_[pieces++];
      *last = {begin, static_cast<uint32_t>(end - begin), base_ + piece_place};
      next = piece_place + (end - begin);
    }
    *wants_[i].place = static_cast<uint32_t>((piece_place + offset - last->offset) / row_bytes);
  }
  count_ = 0;
  queue.read(file, pieces_.first(pieces));
}

}  // namespace plimsoll::feature
