// How much memory a training and a prediction take for their files: a checkpoint while it is read,
// the results of epochs, and the rows of a prediction. Does not need torch, because plans are made
// before torch is loaded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "io/file.h"
#include "nn/footprint.h"
#include "pickle/pickle.h"
#include "train/kept_rows.h"

namespace plimsoll::train {

// ---- checkpoints (checkpoint.cc, torch_file_read.cc, pickle/pickle.cc) ----

inline constexpr uint64_t kVerifiedAtOnceBytes = 256 * kKiB;

// The result of an epoch is a dict of six keys: its bytes in memory (EpochResult), its bytes in a
// pickle, and its pickle instructions.
inline constexpr uint64_t kEpochBytes = 64;
inline constexpr uint64_t kEpochTextBytes = 128;
inline constexpr uint64_t kEpochInstructions = 15;
// The rest of a checkpoint: the recipe and the like, and of each layer the descriptions of its
// tensors, four for each parameter.
inline constexpr uint64_t kOtherValuesBytes = 256 * kKiB;
inline constexpr uint64_t kLayerValuesBytes = 96 * kKiB;

// More than any machine can train, and small enough that sums with it do not overflow.
inline constexpr uint64_t kMostEpochs = uint64_t{1} << 44;

// The series of results that a run of so many epochs keeps.
constexpr uint64_t series_bytes(uint64_t epochs) {
  return std::min(epochs, kMostEpochs) * kEpochBytes;
}

// A checkpoint on disk: the parameters, Adam's averages of them, and the text of the epochs.
constexpr uint64_t checkpoint_file_bytes(uint64_t parameter_bytes, uint64_t epochs) {
  return (1 + nn::kAdamArrays) * parameter_bytes + std::min(epochs, kMostEpochs) * kEpochTextBytes;
}

// The peak while a checkpoint of a model and its optimizer is read, without the tensors. A
// checkpoint that takes more than the limits of a Pickle is refused.
constexpr uint64_t checkpoint_bytes(uint64_t epochs, uint64_t layers) {
  constexpr uint64_t kEach =
      kEpochBytes + kEpochTextBytes + kEpochInstructions * pickle::kInstructionBytes;
  constexpr uint64_t kMost = pickle::kMostPickleBytes + pickle::kMostObjectBytes;
  return kOtherValuesBytes + layers * kLayerValuesBytes + std::min(epochs, kMost / kEach) * kEach;
}

// ---- predictions (predict.cc, kept_rows.h) ----

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
