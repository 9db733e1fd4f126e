// Floyd's algorithm draws k of n positions with k random numbers and without a list of n.
#include "sample/choose.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace plimsoll::sample {
namespace {

// Up to this many draws, a linear search is faster than a bit set.
constexpr uint32_t kFewPlaces = 48;

uint64_t words_for(uint64_t degree) { return (degree + 63) / 64; }

}  // namespace

uint64_t Chooser::bytes_needed(recipe::Draw draw) {
  return draw == recipe::Draw::labor ? memory::Growing<uint64_t>::renewed_bytes(kMostLooked) : 0;
}

void Chooser::prepare(uint64_t longest_list, uint32_t fanout) {
  if (fanout > kFewPlaces && longest_list > fanout) chosen_.renew(words_for(longest_list));
  if (draw_ == recipe::Draw::labor) numbers_.renew(kMostLooked);
}

void Chooser::choose(uint32_t node, const ListBounds& list, uint32_t fanout, uint64_t key,
                     uint64_t* places) const {
  const uint32_t count = read(list, fanout);
  if (list.degree <= count) {
    std::iota(places, places + count, list.begin);
  } else if (count <= kFewPlaces) {
    choose_some(list, count, mix64(key + node), places);
  } else {
    choose_many(list, count, mix64(key + node), places);
  }
}

void Chooser::choose_some(const ListBounds& list, uint32_t count, uint64_t node_key,
                          uint64_t* places) {
  const auto [begin, degree] = list;
  const RandomStream draws(node_key, 0);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t newest = degree - count + i;
    uint64_t place = begin + below(draws.at(i), newest + 1);
    bool taken = false;
    for (uint32_t j = 0; j < i; ++j) taken |= places[j] == place;
    if (taken) place = begin + newest;
    places[i] = place;
  }
}

void Chooser::choose_many(const ListBounds& list, uint32_t count, uint64_t node_key,
                          uint64_t* places) const {
  const auto [begin, degree] = list;
  const RandomStream draws(node_key, 0);
  std::fill_n(chosen_.data(), words_for(degree), 0);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t newest = degree - count + i;
    uint64_t place = below(draws.at(i), newest + 1);
    if ((chosen_[place / 64] >> (place % 64) & 1) != 0) place = newest;
    chosen_[place / 64] |= uint64_t{1} << (place % 64);
    places[i] = begin + place;
  }
}

void Chooser::keep(std::span<const uint32_t> values, uint32_t count, uint64_t key,
                   uint32_t* picked) const {
  constexpr uint64_t kIndexMask = kMostLooked - 1;  // low bits: position; high bits: hash
  if (values.size() <= count) {
    std::copy(values.begin(), values.end(), picked);
    return;
  }
  const RandomStream numbers(key, 1);
  for (uint32_t j = 0; j < values.size(); ++j) {
    numbers_[j] = (numbers.at(values[j]) & ~kIndexMask) | j;
  }
  uint64_t* const first = numbers_.data();
  std::nth_element(first, first + count, first + values.size());
  for (uint32_t j = 0; j < count; ++j) first[j] &= kIndexMask;
  std::sort(first, first + count);
  for (uint32_t j = 0; j < count; ++j) *picked++ = values[first[j]];
}

}  // namespace plimsoll::sample
