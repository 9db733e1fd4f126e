// Sequential files of any size that leave no trace in the page cache: a memory limit counts that
// cache, and a graph is written once and read once, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/fd.h"
#include "io/checksum.h"
#include "memory/buffer.h"

namespace plimsoll::io {

constexpr uint64_t kBlockBytes = 4096;          // O_DIRECT's alignment, for every disk we know
constexpr uint64_t kStreamBytes = 1024 * 1024;  // one transfer of a sequential stream
constexpr uint64_t kSectorBytes = 512;          // the smallest read of any disk

constexpr uint64_t round_up_to_block(uint64_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

// An open file that O_DIRECT reaches, where the file system has it; tmpfs and some network disks do
// not.
struct OpenFile {
  Fd fd;
  std::string path;
  bool direct = false;
};
OpenFile open_uncached(const std::filesystem::path& path, int flags);

// Whole transfers, or Error. A write of kStreamBytes or more leaves nothing in the page cache.
void write_fully(const OpenFile& file, std::span<const std::byte> bytes, uint64_t offset);
void read_fully(const OpenFile& file, std::span<std::byte> bytes, uint64_t offset);

struct WrittenFile {
  uint64_t bytes = 0;
  std::string checksum;
};

// Appends from one thread at a time. Call finish(): without it the file is incomplete.
class FileWriter {
 public:
  FileWriter(memory::Ledger& ledger, const std::filesystem::path& path);

  void append(std::span<const std::byte> bytes);
  template <typename T>
  void append_values(std::span<const T> values) {
    append(std::as_bytes(values));
  }

  // Writes the rest, cuts the file to its length and syncs it.
  WrittenFile finish();

 private:
  void write_buffer(uint64_t bytes);

  OpenFile file_;
  memory::Buffer<std::byte> buffer_;
  Checksum checksum_;
  uint64_t filled_bytes_ = 0;   // in the buffer
  uint64_t written_bytes_ = 0;  // in the file
};

// Reads from one thread at a time.
class FileReader {
 public:
  FileReader(memory::Ledger& ledger, const std::filesystem::path& path);

  uint64_t size_bytes() const { return size_bytes_; }

  // Up to out.size() bytes; 0 at the end.
  size_t read_some(std::span<std::byte> out);

  // Up to out.size() values, a whole number of them; 0 at the end.
  template <typename T>
  size_t read_values(std::span<T> out) {
    return read_some(std::as_writable_bytes(out)) / sizeof(T);
  }

 private:
  OpenFile file_;
  memory::Buffer<std::byte> buffer_;
  uint64_t size_bytes_ = 0;
  uint64_t buffer_offset_ = 0;  // where in the file the buffer begins
  uint64_t position_ = 0;
  uint64_t buffered_bytes_ = 0;
};

}  // namespace plimsoll::io
