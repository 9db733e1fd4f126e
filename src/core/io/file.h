// Sequential files of any size that leave no trace in the page cache: a memory limit counts that
// cache, and a graph is written once and read once, in order. Also checksums of files, and the free
// space of a disk.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "memory/buffer.h"

namespace plimsoll::io {

// The checksum of a store's files: XXH3-64, written as 16 hexadecimal digits.
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
std::string checksum_of(std::string_view bytes);

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

// Loads a file into leased memory, past the page cache, by several threads.
// Fills `out` with the file's bytes from `begin` on, a multiple of kBlockBytes; the file must hold
// as many. `on_piece` is called for every piece, on the thread that read it, for checks.
struct LoadRange {
  std::filesystem::path path;
  std::string name;  // what messages call it, where that is not its path
  uint64_t begin = 0;
  std::span<std::byte> out;
};
void load(const LoadRange& range, unsigned threads,
          const std::function<void(std::span<const std::byte> piece)>& on_piece);

// The same for an array of its own. `count` values of T are read.
template <typename T>
memory::Buffer<T> load_array(memory::Ledger& ledger, std::string_view tag,
                             const std::filesystem::path& path, uint64_t count, unsigned threads,
                             const std::function<void(std::span<const T> piece)>& on_piece) {
  memory::Buffer<T> array(ledger, tag, count);
  load({.path = path, .out = std::as_writable_bytes(array.span())}, threads,
       [&](std::span<const std::byte> piece) {
         on_piece({reinterpret_cast<const T*>(piece.data()), piece.size() / sizeof(T)});
       });
  return array;
}

// The disk that a folder lies on.
struct Disk {
  dev_t device = 0;  // two folders with the same share their free space
  uint64_t free_bytes = 0;
};

// Throws Error{io} where the folder cannot be reached.
Disk disk_of(const std::filesystem::path& folder);

}  // namespace plimsoll::io
