#include "energy/counter.h"

#include <algorithm>

#include "meter/cpu_power.h"

namespace plimsoll::energy {

bool RisingCounter::is_known(double seconds, uint64_t delta) const {
  if (range_ == 0) return true;
  const double most = kMostWatts * std::max(seconds, 1.0);
  const bool may_have_wrapped_twice =
      kMostWatts * seconds >= static_cast<double>(range_) * joules_per_count_;
  return !may_have_wrapped_twice && static_cast<double>(delta) * joules_per_count_ <= most;
}

Cumulative RisingCounter::add(double at, uint64_t count) {
  if (last_) {
    const bool fell = count < *last_;
    const uint64_t delta = fell && range_ == 0 ? 0 : meter::energy_between(*last_, count, range_);
    if ((fell && range_ == 0) || !is_known(at - last_at_, delta)) {
      ++now_.segment;
    } else {
      now_.joules += static_cast<double>(delta) * joules_per_count_;
    }
  }
  last_ = count;
  last_at_ = at;
  return now_;
}

void CounterSum::add(double at, const Cumulative& reading) {
  just_broke_ = last_ && last_->segment != reading.segment;
  if (just_broke_) {
    ++breaks_;
    broke_seconds_ = at - last_at_;
  } else if (last_) {
    joules_ += reading.joules - last_->joules;
    covered_seconds_ += at - last_at_;
  }
  last_ = reading;
  last_at_ = at;
}

void CounterSum::bridge(double joules, double seconds) {
  joules_ += joules;
  covered_seconds_ += seconds;
}

}  // namespace plimsoll::energy
