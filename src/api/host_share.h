// Divides one memory limit between the loaders of a store and the rest of their process. Loaders
// lease what they hold; the rest, such as a user's model, is measured: what is resident and not
// leased. When the rest grows, the ledger's limit goes down, and the lines of the store's files
// with it; when it shrinks, both go up again.
//
// The measurement is too low by what is leased but not touched yet, a few per cent of the batches.
// The kernel keeps the largest peak of the process, so a new peak between two measurements counts,
// too. Peaks are forgotten slowly, because a model that needs memory for its activations once will
// need it again.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/parallel.h"
#include "io/lined_file.h"
#include "memory/ledger.h"
#include "memory/pressure.h"

namespace plimsoll::api {

class HostShare {
 public:
  // The ledger must outlive it. Its limit is set by enforce().
  HostShare(memory::Ledger& ledger, uint64_t limit_bytes);
  HostShare(const HostShare&) = delete;
  HostShare& operator=(const HostShare&) = delete;

  // Sets the ledger's limit, now and whenever something is measured.
  void enforce();
  // From now on, measures and reacts five times a second. `rows` is the file whose line goes up
  // again, not beyond where it is now; it must outlive this. The ledger keeps at least
  // `needed_bytes`.
  void watch(io::LinedFile& rows, uint64_t needed_bytes);
  // For one more loader, or one less.
  void need_more(uint64_t bytes);
  void need_less(uint64_t bytes);
  // look() measures now, look_if_due() only if the last measurement is old. tick() is what the
  // watch calls: it also forgets a part of old peaks.
  void look();
  void look_if_due();
  void tick();

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t host_bytes() const;
  uint64_t over_bytes() const;

 private:
  void adjust(int64_t room_bytes);
  void apply();

  memory::Ledger& ledger_;
  const uint64_t limit_bytes_;
  const uint64_t usable_bytes_;

  mutable std::mutex mutex_;  // guards what follows
  io::LinedFile* rows_ = nullptr;
  bool enforced_ = false;
  uint64_t planned_line_bytes_ = 0;
  uint64_t needed_bytes_ = 0;
  uint64_t host_bytes_ = 0;        // at the last measurement
  uint64_t host_peak_bytes_ = 0;   // between measurements
  uint64_t known_peak_bytes_ = 0;  // of the whole process
  std::chrono::steady_clock::time_point last_look_;
  uint64_t over_bytes_ = 0;
  uint64_t allowed_bytes_ = UINT64_MAX;  // by the machine or the cgroup

  // Declared last: they use all of the above.
  std::optional<Ticker> ticker_;
  std::optional<memory::PressureWatch> pressure_;
};

}  // namespace plimsoll::api
