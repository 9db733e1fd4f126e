// A window: consecutive batches of a pass whose neighbourhoods are sampled together and whose rows
// from disk are read together, each row once and in the order of the file. One batch wants too few
// rows for that; the more batches a window has, the denser its rows lie, until reading through the
// file is faster than picking from it.
//
// Windows change no batch: they only decide when something is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "feature/rows.h"
#include "io/lined_file.h"
#include "memory/index_set.h"
#include "memory/ledger.h"
#include "sample/joint_sampler.h"

namespace plimsoll::batch {

constexpr unsigned kWindows = 2;  // one is read while batches are made from the other

struct WindowOptions {
  unsigned batches = 1;  // at most; 1 = no windows
  // Of the first window of a pass; the next ones have twice as many each. Small ones keep a trainer
  // from waiting, but they are sparse: worth it only if the disk is faster than the trainer.
  unsigned first_batches = 1;
  uint64_t bytes = 0;    // for the rows of one window, at most
  unsigned threads = 1;  // that sample its batches
  io::ReadPrice price;
};

// The rows that a window has read, and the neighbourhoods of its batches. Filled by WindowMaker.
class Window {
 public:
  Window(const feature::RowSource& rows, memory::Ledger& ledger);

  // Besides the rows and the neighbourhoods.
  static uint64_t bytes_needed(uint64_t rows) { return memory::IndexSet::bytes_needed(rows); }

  // Whether the row was read; then place() is where it is, as RowReader::Access counts.
  bool has(uint64_t row) const { return read_.has(row); }
  void prefetch(uint64_t row) const { read_.prefetch(row); }
  uint32_t place(uint64_t row) const {
    return static_cast<uint32_t>(first_place_ + read_.rank(row));
  }
  uint64_t rows() const { return read_.size(); }

  // The neighbourhoods of the batches `first` .. `first` + `count` - 1.
  uint64_t first = 0;
  uint64_t count = 0;
  std::vector<sample::Neighborhood> neighborhoods;

 private:
  friend class WindowMaker;

  const feature::RowSource& source_;
  memory::IndexSet read_;
  std::optional<io::LinedFile::Area> area_;
  std::byte* values_ = nullptr;  // of the first row
  uint64_t first_place_ = 0;
};

// For one thread at a time.
class WindowMaker {
 public:
  struct Options {
    sample::SamplerOptions sampling;
    WindowOptions window;
    memory::PageSource* pages = nullptr;  // of neighbourhoods, which batches take over
  };
  // Topology and rows must outlive it.
  WindowMaker(const sample::Topology& topology, const feature::RowSource& rows,
              const Options& options, memory::Ledger& ledger);

  static sample::JointSampler::Options sampler_options(const Options& options);

  // Makes a window of batches from `first` on, at most `count`. It has fewer if their rows do not
  // fit, and at least one; rows of that one that do not fit are left out. `begin` writes the seeds
  // of a batch into its neighbourhood and returns the key of its draws.
  using Begin = std::function<uint64_t(uint64_t index, sample::Neighborhood& out)>;
  void make(Window& window, uint64_t first, uint64_t count, const Begin& begin);

  struct Times {
    double sample = 0;
    double read = 0;
  };
  const Times& times() const { return times_; }
  io::ReadQueue::Counts reads() const { return sampler_.counts(); }
  std::string read_method() { return sampler_.reader().method(); }
  void release();

 private:
  uint64_t most_rows() const;
  bool lease_rows(Window& window);
  uint64_t resident_rows() const;
  void want_rows(Window& window, uint64_t resident) const;
  uint64_t add_rows(Window& window, uint64_t resident) const;

  const feature::RowSource& rows_;
  const Options options_;
  memory::Ledger& ledger_;
  sample::JointSampler sampler_;
  std::vector<sample::Draft> drafts_;
  Times times_;
};

}  // namespace plimsoll::batch
