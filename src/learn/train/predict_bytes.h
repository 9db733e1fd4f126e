// How much memory a prediction takes for its files, as predict.cc and kept_rows.h allocate it. Does
// not need torch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "io/file.h"
#include "nn/footprint.h"
#include "train/kept_rows.h"

namespace plimsoll::train {

// Original ids are read and written in pieces of so many.
inline constexpr uint64_t kIdsAtOnce = 65536;

// Reading the ids, then writing those of --ids.
constexpr uint64_t ids_bytes() {
  return std::max<uint64_t>(io::kStreamBytes + kIdsAtOnce * sizeof(uint32_t),
                            kIdsAtOnce * sizeof(int64_t));
}

// With several ranks, each needs so much to send its rows to rank 0: for the rows that it keeps,
// for the piece that is sent, and for the ids of the rows.
constexpr uint64_t collecting_bytes() {
  return KeptRows::kPieceBytes + nn::tensor_room_bytes(KeptRows::kPieceBytes) + ids_bytes();
}

}  // namespace plimsoll::train
