// How the ranks of a run find each other: c10d's store at the meeting point, who is there, and the
// address of this host for the others.
#pragma once

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "ranks/group.h"
#include "ranks/rank_place.h"

namespace plimsoll::train {

// How long to wait for the other ranks.
constexpr auto kJoinTime = std::chrono::minutes(3);

// Values of the store are bytes.
inline std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
inline std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// Of a message of c10d: its other lines are a stack trace.
std::string first_line(const char* what);

// Connects to the store at the meeting point, or opens it. Throws Error{io or lost}.
c10::intrusive_ptr<c10d::Store> connect_store(const ranks::RankPlace& place, bool serve);

// Says who this rank is and waits for the others. Throws Error{lost} that names those that did not
// come in time.
std::vector<ranks::RankProcess> meet(c10d::Store& store, const ranks::RankPlace& place);

// The address at which the other ranks reach this host; empty if it is not known.
std::string own_address(const ranks::RankPlace& place,
                        const std::vector<ranks::RankProcess>& processes);

}  // namespace plimsoll::train
