#include "batch/gather.h"

#include <algorithm>

#include "base/interrupt.h"

namespace plimsoll::batch {
namespace {

// Special values of places: the row is not resident; it is not resident but requested in this
// round.
constexpr uint32_t kOnDisk = UINT32_MAX;
constexpr uint32_t kAskedFor = UINT32_MAX - 1;
constexpr size_t kBitsAhead = 16;  // rows whose bits in the window are loaded ahead

}  // namespace

uint64_t Gatherer::bytes_needed(uint64_t nodes, uint64_t row_bytes, uint64_t area_bytes) {
  return feature::RowReader::bytes_needed(nodes, row_bytes, area_bytes) +
         memory::Growing<uint32_t>::renewed_bytes(area_bytes / row_bytes);
}

void Gatherer::gather(Assembler& assembler, const Window* window) {
  needs_area_ = window == nullptr;
  for (;;) {
    switch (try_gather(assembler, window)) {
      case Filled::yes:
        counts_.rows += assembler.batch().nodes.size();
        return;
      case Filled::needs_leases:
        lease_for(assembler, window);
        break;
      case Filled::line_went_down:
        break;
    }
  }
}

// Takes no area for a batch whose rows are all resident or in its window.
void Gatherer::lease_for(Assembler& assembler, const Window* window) {
  const uint64_t nodes = assembler.batch().nodes.size();
  assembler.places().renew(nodes);
  if (reader_.all_resident() || (window != nullptr && !needs_area_)) return;
  queue_();
  reader_.prepare(nodes);
  asked_.renew(reader_.room_rows());
}

bool Gatherer::has_places(Assembler& assembler) {
  return assembler.places().capacity() >= assembler.batch().nodes.size();
}

bool Gatherer::prepared_for(Assembler& assembler) const {
  return reader_.prepared() >= assembler.batch().nodes.size() &&
         asked_.capacity() >= reader_.room_rows();
}

// Sets the places of rows that are resident or in the window, marks the others and counts them.
Gatherer::Marked Gatherer::mark(const Access& access, Assembler& assembler,
                                const Window* window) const {
  const auto nodes = assembler.batch().nodes;
  const uint64_t resident = access.resident_rows();
  uint32_t* places = assembler.places().data();
  Marked marked;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (window != nullptr) {
      window->prefetch(source_.row_of(nodes[std::min(i + kBitsAhead, nodes.size() - 1)]));
    }
    const uint64_t row = source_.row_of(nodes[i]);
    if (row < resident) {
      places[i] = static_cast<uint32_t>(row);
    } else if (window != nullptr && window->has(row)) {
      places[i] = window->place(row);
      ++marked.in_window;
    } else {
      places[i] = kOnDisk;
      ++marked.on_disk;
    }
  }
  return marked;
}

Gatherer::Filled Gatherer::try_gather(Assembler& assembler, const Window* window) {
  std::optional<Access> access(reader_);
  if (access->all_in_place()) {
    assembler.fill(access->rows(), assembler.batch().nodes.data());
    return Filled::yes;
  }
  if (!has_places(assembler)) return Filled::needs_leases;
  const Marked marked = mark(*access, assembler, window);
  if (marked.on_disk > 0 && !prepared_for(assembler)) {
    needs_area_ = true;
    return Filled::needs_leases;
  }
  if (marked.on_disk > reader_.room_rows()) {
    if (!fill_in_rounds(access, assembler)) return Filled::line_went_down;
  } else {
    if (marked.on_disk > 0) want_rows(assembler);
    if (!read(access)) return Filled::line_went_down;
    assembler.fill(access->rows(), assembler.places().data());
  }
  counts_.from_disk += marked.in_window;
  return Filled::yes;
}

void Gatherer::want_rows(Assembler& assembler) {
  const auto nodes = assembler.batch().nodes;
  uint32_t* places = assembler.places().data();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (places[i] == kOnDisk) reader_.want(nodes[i], &places[i]);
  }
}

bool Gatherer::read(std::optional<Access>& access) {
  if (reader_.wanted() == 0) return true;
  throw_if_interrupted();  // a batch in rounds can take long
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
