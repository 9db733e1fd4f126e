#include "batch/gather.h"

#include <algorithm>

namespace plimsoll::batch {
namespace {

// Marks of places that are no places: not resident; not resident and asked for in this round.
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

Gatherer::Filled Gatherer::try_gather(std::span<Assembler* const> window) {
  const Access access(reader_);
  if (access.all_in_place()) {
    for (Assembler* assembler : window) {
      assembler->fill(access.rows(), assembler->batch().nodes.data());
    }
    return Filled::yes;
  }
  uint64_t nodes = 0;
  for (Assembler* assembler : window) {
    nodes += assembler->batch().nodes.size();
    if (assembler->places().capacity() < assembler->batch().nodes.size()) {
      return Filled::needs_leases;
    }
  }
  const bool prepared = reader_.prepared() >= nodes && asked_.capacity() >= reader_.room_rows() &&
                        (packed_ == nullptr || stage_.size() > 0);
  if (!prepared && !access.all_resident()) return Filled::needs_leases;
  uint64_t on_disk = 0;
  for (Assembler* assembler : window) on_disk += mark(access, *assembler);
  if (on_disk > reader_.room_rows()) {
    if (window.size() > 1) return Filled::needs_room;
    fill_in_rounds(access, *window.front());
    return Filled::yes;
  }
  const Batch& first = window.front()->batch();
  if (packed_ != nullptr && on_disk > 0 && first.seeds == first.whole) {
    read_rows(access, *window.front(), {first.index, on_disk, access.resident_rows()});
  } else {
    read_all(window);
  }
  for (Assembler* assembler : window) {
    assembler->fill(access.rows(), assembler->places().data());
  }
  return Filled::yes;
}

void Gatherer::read_all(std::span<Assembler* const> window) {
  for (Assembler* assembler : window) {
    const auto nodes = assembler->batch().nodes;
    uint32_t* places = assembler->places().data();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (places[i] == kOnDisk) reader_.want(nodes[i], &places[i]);
    }
  }
  if (reader_.wanted() == 0) return;
  counts_.from_disk += reader_.wanted();
  reader_.read(queue_());
}

// From where they are packed, or one by one and then packed.
void Gatherer::read_rows(const Access& access, Assembler& assembler, const PackedRows::Want& want) {
  uint32_t* places = assembler.places().data();
  uint64_t asked = 0;
  for (uint32_t i = 0; asked < want.rows; ++i) {
    if (places[i] == kOnDisk) asked_[asked++] = i;
  }
  if (packed_->has(want)) {
    if (const auto stretch = reader_.stretch(packed_->bytes_of(want))) {
      packed_->read(want, stretch->memory);
      for (uint64_t i = 0; i < asked; ++i) {
        places[asked_[i]] = stretch->place + static_cast<uint32_t>(i);
      }
      counts_.from_disk += asked;
      counts_.packed += asked;
      return;
    }
  }
  Assembler* const window = &assembler;
  read_all({&window, 1});
  const kernel::Rows& rows = access.rows();
  packed_->put(
      want,
      [&](uint64_t i) {
        const uint64_t place = places[asked_[i]];
        return reinterpret_cast<const std::byte*>(rows.data) + place * rows.row_bytes;
      },
      stage_.span());
}

void Gatherer::fill_in_rounds(const Access& access, Assembler& assembler) {
  if (assembler.assembly().input == Input::rows) {
    fill_rows_in_rounds(access, assembler, &Assembler::fill_rows);
    return;
  }
  fill_sums_in_rounds(access, assembler);
  if (assembler.assembly().input == Input::aggregated_and_own) {
    fill_rows_in_rounds(access, assembler, &Assembler::fill_own);
  }
}

void Gatherer::fill_rows_in_rounds(const Access& access, Assembler& assembler,
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
    counts_.from_disk += asked;
    reader_.read(queue_());
    (assembler.*fill)(access.rows(), places, {.first = first, .last = last});
    for (uint64_t i = 0; i < asked; ++i) places[asked_[i]] = kOnDisk;
    first = last;
  }
}

// Goes through the lists edge by edge, asking for rows until the room is full: then what has been
// asked for is read and added up, and the walk goes on, in the middle of a list if it must.
void Gatherer::fill_sums_in_rounds(const Access& access, Assembler& assembler) {
  const auto nodes = assembler.batch().nodes;
  uint32_t* places = assembler.places().data();
  const sample::Hop& hop = assembler.summed_hop();
  const bool own_row = assembler.assembly().weighting != Weighting::mean;
  Assembler::Part part;
  uint64_t asked = 0;
  // False where there is no room for one more.
  const auto ask = [&](uint32_t i) {
    if (places[i] != kOnDisk) return true;
    if (asked == reader_.room_rows()) return false;
    places[i] = kAskedFor;
    asked_[asked++] = i;
    return true;
  };
  const auto add_up = [&](uint64_t last, uint64_t to_edge) {
    for (uint64_t i = 0; i < asked; ++i) reader_.want(nodes[asked_[i]], &places[asked_[i]]);
    counts_.from_disk += asked;
    reader_.read(queue_());
    part.last = last;
    part.to_edge = to_edge;
    assembler.fill_sums(access.rows(), places, part);
    for (uint64_t i = 0; i < asked; ++i) places[asked_[i]] = kOnDisk;
    asked = 0;
  };
  // Adds up all destinations before i, and i as far as `edge`; goes on from there.
  const auto break_at = [&](uint32_t i, uint64_t edge) {
    const bool begun = edge > hop.offsets[i];
    add_up(begun ? i + 1 : i, begun ? edge : UINT64_MAX);
    part = {.first = i, .from_edge = begun ? edge : 0};
  };
  for (uint32_t i = 0; i < hop.destinations; ++i) {
    for (uint64_t e = hop.offsets[i]; e < hop.offsets[i + 1]; ++e) {
      if (ask(hop.indices[e])) continue;
      break_at(i, e);
      ask(hop.indices[e]);
    }
    // The own row is added after the last edge.
    if (!own_row || ask(i)) continue;
    break_at(i, hop.offsets[i + 1]);
    ask(i);
  }
  add_up(hop.destinations, UINT64_MAX);
}

}  // namespace plimsoll::batch
