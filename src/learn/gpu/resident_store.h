// A store where a GPU reaches all of it: the first rows and lists, which are visited most, in the
// GPU's memory, and the others in memory of the host that the GPU reads itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "gpu/accelerator.h"
#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::gpu {

struct StoreView;

// How much of each file is in the GPU's memory, in bytes; the rest is in memory of the host.
// See line_at(). mlp needs no lists.
struct StoreLines {
  uint64_t offsets_bytes = 0;
  uint64_t neighbors_bytes = 0;
  uint64_t features_bytes = 0;
  // The rows up to here are in one of the two memories, the others on disk (gpu/cold_rows.h). See
  // line_at(), too.
  uint64_t features_end_bytes = UINT64_MAX;
  bool lists = true;
};

// Must end before the device and both ledgers.
class ResidentStore {
 public:
  // Reads and checks the files. Throws Error{store} if a value is out of range.
  ResidentStore(const graph::Store& store, Accelerator& device, memory::Ledger& host,
                const StoreLines& lines, unsigned threads,
                const std::function<void(uint64_t bytes)>& on_bytes);
  ResidentStore(const ResidentStore&) = delete;
  ResidentStore& operator=(const ResidentStore&) = delete;
  ~ResidentStore() = default;

  StoreView view() const;
  // The rows from this one on are on disk; the number of nodes if there are none.
  uint64_t first_cold_row() const { return first_cold_row_; }

  // What loading takes of the host in addition, until the constructor returns.
  static constexpr uint64_t kLoadingBytes = uint64_t{64} << 20;
  // The line that a file gets if one at `line_bytes` is asked for: the end of the file, or the last
  // place up to there where both a block of the disk and a value of `value_bytes` begin.
  static uint64_t line_at(uint64_t file_bytes, uint64_t line_bytes, uint64_t value_bytes);
  // What the two parts of a file with such a line take.
  static uint64_t device_bytes(uint64_t file_bytes, uint64_t line_bytes);
  static uint64_t host_bytes(uint64_t file_bytes, uint64_t line_bytes);

 private:
  struct SplitFile {
    Array<uint8_t> near;
    memory::Pages far;
    Revealed revealed;  // all of `far`
    uint64_t line = 0;
    LinedBytes bytes() const {
      return {near.data(), static_cast<const uint8_t*>(revealed.data()), line};
    }
  };
  enum File : size_t { kOffsets, kNeighbors, kFeatures, kFiles };

  using Check = std::function<void(std::span<const std::byte> piece)>;
  struct FileToLoad {
    std::filesystem::path path;
    const char* tag = "";  // of the lease of the device's memory
    uint64_t bytes = 0;
    uint64_t line = 0;
    unsigned threads = 1;
    Check on_piece;  // called on any thread
    Check in_order;  // called for one piece after the other
  };
  SplitFile load(const FileToLoad& wanted, memory::Ledger& host);

  Accelerator& device_;
  uint64_t first_cold_row_ = 0;
  FeatureRows rows_;
  std::array<SplitFile, kFiles> files_;
};

}  // namespace plimsoll::gpu
