// The checksum of a store's files: XXH3-64, written as 16 hexadecimal digits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace plimsoll::io {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void update(std::span<const std::byte> bytes);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::io
