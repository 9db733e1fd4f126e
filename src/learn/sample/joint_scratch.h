// What the files of JointSampler share: the memory of each thread, and the loop over drafts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "sample/joint_sampler.h"

namespace plimsoll::sample {

// What one thread needs for one draft at a time.
struct JointSampler::Scratch {
  Scratch(const Topology& topology, const SamplerOptions& options, memory::Ledger& ledger)
      : table(ledger),
        chooser(options.draw, ledger),
        places(ledger, "sampling"),
        values(ledger, "sampling"),
        lists(topology, ledger, options.reading) {}

  NodeTable table;
  Chooser chooser;
  memory::Growing<uint64_t> places;
  memory::Growing<uint32_t> values;
  ListReader lists;  // for lists that are too long to be read with others
};

class JointSampler::Lent {
 public:
  explicit Lent(JointSampler& sampler) : sampler_(sampler) {
    const std::lock_guard lock(sampler.mutex_);
    if (!sampler.free_.empty()) {
      scratch_ = std::move(sampler.free_.back());
      sampler.free_.pop_back();
    }
    if (!scratch_) {
      scratch_ =
          std::make_unique<Scratch>(sampler.topology_, sampler.options_.sampling, sampler.ledger_);
    }
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    const std::lock_guard lock(sampler_.mutex_);
    sampler_.free_.push_back(std::move(scratch_));
  }
  Scratch& operator*() const { return *scratch_; }

 private:
  JointSampler& sampler_;
  std::unique_ptr<Scratch> scratch_;
};

template <typename Body>
void JointSampler::for_each(std::span<Draft> drafts, const Body& body) {
  const auto threads = static_cast<unsigned>(std::min<uint64_t>(options_.threads, drafts.size()));
  parallel_for(threads, drafts.size(), [&](size_t i) {
    const Lent scratch(*this);
    body(drafts[i], *scratch);
  });
}

}  // namespace plimsoll::sample
