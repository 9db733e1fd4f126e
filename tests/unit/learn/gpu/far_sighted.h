// A device that sees memory of the host elsewhere, so that an address of the wrong kind shows.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gpu/host_accelerator.h"

namespace plimsoll::gpu {

// Sees memory of the host at other addresses, as a GPU may, and counts what it still sees.
class FarSighted final : public HostAccelerator {
 public:
  using HostAccelerator::HostAccelerator;
  const void* reveal(const void* host, uint64_t bytes) override {
    const auto* const from = static_cast<const uint8_t*>(host);
    return seen_.emplace(host, std::vector<uint8_t>(from, from + bytes)).first->second.data();
  }
  void conceal(const void* host) noexcept override { concealed_ += seen_.erase(host); }
  size_t seen() const { return seen_.size(); }
  size_t concealed() const { return concealed_; }

 private:
  std::map<const void*, std::vector<uint8_t>> seen_;
  size_t concealed_ = 0;
};

}  // namespace plimsoll::gpu
