#include "io/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace plimsoll::io {

struct Checksum::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  State() { XXH3_64bits_reset(xxh3); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh3); }
};

Checksum::Checksum() : state_(std::make_unique<State>()) {}
Checksum::~Checksum() = default;

void Checksum::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->xxh3, bytes.data(), bytes.size());
}

std::string Checksum::hex() const {
  return fmt::format("{:016x}", XXH3_64bits_digest(state_->xxh3));
}

}  // namespace plimsoll::io
