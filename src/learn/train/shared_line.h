// The line of a file whose resident part the ranks of a host share. The first of them, which has
// loaded the memory, decides how high the line is; the others follow within milliseconds. What is
// above the line goes back to the system when no rank uses it any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "io/lined_file.h"

namespace plimsoll::train {

// For one thread at a time. The file must outlive it.
class SharedLine {
 public:
  // The first rank of the host makes it, after it has loaded the line.
  SharedLine(io::LinedFile& file, size_t host_ranks);
  // The others: `page` is the first one's page(), `place` is their place among the host's ranks.
  SharedLine(io::LinedFile& file, const Fd& page, size_t host_ranks, size_t place);
  SharedLine(const SharedLine&) = delete;
  SharedLine& operator=(const SharedLine&) = delete;
  ~SharedLine();

  bool leads() const { return place_ == 0; }
  int page() const { return fd_.get(); }  // the descriptor
  uint64_t line_bytes() const { return file_.line_bytes(); }

  // For the first rank. lower_to() returns when the memory is given back, or after two seconds: it
  // is then given back by the next call of any of these.
  void lower_to(uint64_t line_bytes);
  void raise_to(uint64_t line_bytes);  // or as far as the ledger has room

  // For the others: where the line should be now, and moving it there.
  uint64_t goal_bytes() const;
  void follow();

 private:
  uint64_t page_bytes() const;
  void map(int fd);
  bool release();

  io::LinedFile& file_;
  const size_t host_ranks_;
  const size_t place_;
  Fd fd_;
  // In memory that all ranks of the host map, by place: first the goal, then how far the rank may
  // use the memory.
  std::atomic<uint64_t>* page_ = nullptr;
  uint64_t held_bytes_ = 0;  // of the memory; above the line, nobody needs them
};

}  // namespace plimsoll::train
