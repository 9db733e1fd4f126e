// A zip archive whose members lie in the file as they are, each at a multiple of 64 bytes, so that
// a reader may map them into memory: torch.load(mmap=True) does. Sizes beyond 4 GiB use zip64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace plimsoll::train {

// Writes from the start of the file, which must outlive it. Without finish() it is no archive.
class StoredZipWriter {
 public:
  explicit StoredZipWriter(const io::OpenFile& file) : file_(file) {}

  void add(std::string_view name, std::span<const std::byte> bytes);
  // A member that comes piece by piece and is never in memory as a whole. `make` hands over the
  // same pieces twice: first they are counted, then written.
  using Take = std::function<void(std::string_view bytes)>;
  void add(std::string_view name, const std::function<void(const Take&)>& make);

  // Writes the directory of the archive and what is left in the buffer. Does not sync.
  void finish();

 private:
  void begin(std::string_view name, uint64_t bytes, uint64_t crc);
  void append(std::span<const std::byte> bytes);
  void append(std::string_view bytes) { append(std::as_bytes(std::span(bytes))); }
  void flush();

  const io::OpenFile& file_;
  std::vector<std::byte> buffer_;  // at most io::kStreamBytes
  uint64_t written_bytes_ = 0;
  std::string directory_;
  uint64_t members_ = 0;
};

}  // namespace plimsoll::train
