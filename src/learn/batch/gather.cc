#include "batch/gather.h"

#include <algorithm>

namespace plimsoll::batch {
namespace {

// Special values of places: the row is not resident; it is not resident but requested in this
// round.
constexpr uint32_t kOnDisk = UINT32_MAX;
constexpr uint32_t kAskedFor = UINT32_MAX - 1;

// Sets the places of resident rows, marks the others and counts them.
uint64_t mark(const feature::RowReader::Access& access, Assembler& assembler) {
  const auto nodes = assembler.batch().nodes;
  uint32_t* places = assembler.places().data();
  uint64_t on_disk = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    places[i] = access.place(nodes[i]).value_or(kOnDisk);
    on_disk += places[i] == kOnDisk ? 1 : 0;
  }
  return on_disk;
}

}  // namespace

uint64_t Gatherer::bytes_needed(uint64_t nodes, uint64_t row_bytes, uint64_t area_bytes,
                                bool packing) {
  return feature::RowReader::bytes_needed(nodes, row_bytes, area_bytes) +
         memory::Growing<uint32_t>::renewed_bytes(area_bytes / row_bytes) +
         (packing ? kPackingBytes : 0);
}

void Gatherer::gather(std::span<Assembler* const> window, PackedRows* packed) {
  packed_ = packed;
  if (packed != nullptr && window.size() > 1) {
    for (Assembler* const& assembler : window) gather({&assembler, 1}, packed);
    return;
  }
  for (;;) {
    switch (try_gather(window)) {
      case Filled::yes:
        for (Assembler* assembler : window) counts_.rows += assembler->batch().nodes.size();
        return;
      case Filled::needs_leases:
        lease_for(window);
        break;
      case Filled::needs_room:
        for (Assembler* const& assembler : window) gather({&assembler, 1}, packed);
        return;
      case Filled::line_went_down:
        break;
    }
  }
}

void Gatherer::lease_for(std::span<Assembler* const> window) {
  uint64_t nodes = 0;
  for (Assembler* assembler : window) {
    assembler->places().renew(assembler->batch().nodes.size());
    nodes += assembler->batch().nodes.size();
  }
  if (reader_.all_resident()) return;
  queue_();
  reader_.prepare(nodes);
  asked_.renew(reader_.room_rows());
  if (packed_ != nullptr && stage_.size() == 0) {
    stage_ = memory::Buffer<std::byte>(ledger_, "packed rows", kPackingBytes);
  }
}

bool Gatherer::prepared_for(std::span<Assembler* const> window, const Access& access) const {
  uint64_t nodes = 0;
  for (Assembler* assembler : window) {
    nodes += assembler->batch().nodes.size();
    if (assembler->places().capacity() < assembler->batch().nodes.size()) return false;
  }
  if (access.all_resident()) return true;
  return reader_.prepared() >= nodes && asked_.capacity() >= reader_.room_rows() &&
         (packed_ == nullptr || stage_.size() > 0);
}

Gatherer::Filled Gatherer::try_gather(std::span<Assembler* const> window) {
  std::optional<Access> access(reader_);
  if (access->all_in_place()) {
    for (Assembler* assembler : window) {
      assembler->fill(access->rows(), assembler->batch().nodes.data());
    }
    return Filled::yes;
  }
  if (!prepared_for(window, *access)) return Filled::needs_leases;
  uint64_t on_disk = 0;
  for (Assembler* assembler : window) on_disk += mark(*access, *assembler);
  if (on_disk > reader_.room_rows()) {
    if (window.size() > 1) return Filled::needs_room;
    return fill_in_rounds(access, *window.front()) ? Filled::yes : Filled::line_went_down;
  }
  const Batch& first = window.front()->batch();
  if (packed_ != nullptr && on_disk > 0 && first.seeds == first.whole) {
    return fill_packed(access, *window.front(), {first.index, on_disk, access->resident_rows()});
  }
  for (Assembler* assembler : window) want_rows(*assembler);
  if (!read(access)) return Filled::line_went_down;
  for (Assembler* assembler : window) {
    assembler->fill(access->rows(), assembler->places().data());
  }
  return Filled::yes;
}

void Gatherer::want_rows(Assembler& assembler) {
  const auto nodes = assembler.batch().nodes;
  uint32_t* places = assembler.places().data();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (places[i] == kOnDisk) reader_.want(nodes[i], &places[i]);
  }
}

// Reads the packed rows if there are any; else reads the rows one by one and packs them.
Gatherer::Filled Gatherer::fill_packed(std::optional<Access>& access, Assembler& assembler,
                                       const PackedRows::Want& want) {
  uint32_t* places = assembler.places().data();
  uint64_t asked = 0;
  for (uint32_t i = 0; asked < want.rows; ++i) {
    if (places[i] == kOnDisk) asked_[asked++] = i;
  }
  const auto stretch = packed_->has(want) ? reader_.stretch(packed_->bytes_of(want)) : std::nullopt;
  if (stretch) {
    access.reset();
    packed_->read(want, stretch->memory);
    access.emplace(reader_);
    if (access->resident_rows() < want.resident_rows) return Filled::line_went_down;
    for (uint32_t i = 0; i < asked; ++i) places[asked_[i]] = stretch->place + i;
    counts_.from_disk += asked;
    counts_.packed += asked;
  } else {
    want_rows(assembler);
    if (!read(access)) return Filled::line_went_down;
  }
  assembler.fill(access->rows(), places);
  if (stretch) return Filled::yes;
  const kernel::Rows rows = access->rows();
  access.reset();  // the rows to pack are in the area, so the line may move during a slow write
  packed_->put(
      want,
      [&](uint64_t i) {
        const uint64_t place = places[asked_[i]];
        return reinterpret_cast<const std::byte*>(rows.data) + place * rows.row_bytes;
      },
      stage_.span());
  return Filled::yes;
}

bool Gatherer::read(std::optional<Access>& access) {
  if (reader_.wanted() == 0) return true;
  const uint64_t counted_on = access->resident_rows();
  counts_.from_disk += reader_.wanted();
  access.reset();
  reader_.read(queue_());
  access.emplace(reader_);
  return access->resident_rows() >= counted_on;
}

bool Gatherer::fill_in_rounds(std::optional<Access>& access, Assembler& assembler) {
  if (assembler.assembly().input == Input::rows) {
    return fill_rows_in_rounds(access, assembler, &Assembler::fill_rows);
  }
  const bool summed = assembler.assembly().precomputed
                          ? fill_rows_in_rounds(access, assembler, &Assembler::fill_sums)
                          : fill_sums_in_rounds(access, assembler);
  return summed && (assembler.assembly().input != Input::aggregated_and_own ||
                    fill_rows_in_rounds(access, assembler, &Assembler::fill_own));
}

bool Gatherer::fill_rows_in_rounds(std::optional<Access>& access, Assembler& assembler,
                                   void (Assembler::*fill)(const kernel::Rows&, const uint32_t*,
                                                           const Assembler::Part&)) {
  const auto nodes = assembler.batch().nodes;
  uint32_t* places = assembler.places().data();
  const uint64_t count = assembler.batch().input.rows;
  for (uint64_t first = 0; first < count;) {
    uint64_t last = first;
    for (; last < count; ++last) {
      if (places[last] != kOnDisk) continue;
      if (reader_.wanted() == reader_.room_rows()) break;
      asked_[reader_.wanted()] = static_cast<uint32_t>(last);
      reader_.want(nodes[last], &places[last]);
    }
    const uint64_t asked = reader_.wanted();
    if (!read(access)) return false;
    (assembler.*fill)(access->rows(), places, {.first = first, .last = last});
    for (uint64_t i = 0; i < asked; ++i) places[asked_[i]] = kOnDisk;
    first = last;
  }
  return true;
}

// Walks through the lists edge by edge and requests rows until the area is full. Then it reads the
// requested rows, adds them up and continues, if necessary in the middle of a list.
bool Gatherer::fill_sums_in_rounds(std::optional<Access>& access, Assembler& assembler) {
  const auto nodes = assembler.batch().nodes;
  uint32_t* places = assembler.places().data();
  const sample::Hop& hop = assembler.summed_hop();
  const bool own_row = assembler.assembly().weighting != Weighting::mean;
  Assembler::Part part;
  uint64_t asked = 0;
  // False if the area has no room for one more row.
  const auto ask = [&](uint32_t i) {
    if (places[i] != kOnDisk) return true;
    if (asked == reader_.room_rows()) return false;
    places[i] = kAskedFor;
    asked_[asked++] = i;
    return true;
  };
  const auto add_up = [&](uint64_t last, uint64_t to_edge) {
    for (uint64_t i = 0; i < asked; ++i) reader_.want(nodes[asked_[i]], &places[asked_[i]]);
    if (!read(access)) return false;
    part.last = last;
    part.to_edge = to_edge;
    assembler.fill_sums(access->rows(), places, part);
    for (uint64_t i = 0; i < asked; ++i) places[asked_[i]] = kOnDisk;
    asked = 0;
    return true;
  };
  // Adds up all destinations before i, and the edges of i before `edge`; continues from there.
  const auto break_at = [&](uint32_t i, uint64_t edge) {
    const bool begun = edge > hop.offsets[i];
    if (!add_up(begun ? i + 1 : i, begun ? edge : UINT64_MAX)) return false;
    part = {.first = i, .from_edge = begun ? edge : 0};
    return true;
  };
  for (uint32_t i = 0; i < hop.destinations; ++i) {
    for (uint64_t e = hop.offsets[i]; e < hop.offsets[i + 1]; ++e) {
      if (ask(hop.indices[e])) continue;
      if (!break_at(i, e)) return false;
      ask(hop.indices[e]);
    }
    // The own row is added after the last edge.
    if (!own_row || ask(i)) continue;
    if (!break_at(i, hop.offsets[i + 1])) return false;
    ask(i);
  }
  return add_up(hop.destinations, UINT64_MAX);
}

}  // namespace plimsoll::batch
