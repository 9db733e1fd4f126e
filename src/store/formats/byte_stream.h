// Bytes read once, from front to back, of a file as it lies on disk or inside a gzip file. A stream
// leaves no trace in the page cache: a memory limit counts that cache, and these files are larger
// than it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace plimsoll::formats {

// One thread at a time. Bytes that cannot be had (truncated, corrupt) are Error{input}, a disk that
// does not answer is Error{io}; both name the file and the byte.
class ByteStream {
 public:
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  // Fills all of `bytes`, or less where the stream ends; returns how many.
  size_t read(std::span<std::byte> bytes);

  // Passes over `count` bytes, or fewer where the stream ends; returns how many.
  uint64_t skip(uint64_t count);

  // The words for messages: "papers/raw/data.npz, member edge_index.npy".
  const std::string& name() const { return name_; }
  uint64_t position() const { return position_; }
  // How far the file behind the stream has been read; another figure where the stream inflates it.
  virtual uint64_t file_position() const { return position_; }

 protected:
  explicit ByteStream(std::string name) : name_(std::move(name)) {}

 private:
  // At least one byte unless the stream has ended.
  virtual size_t read_some(std::span<std::byte> bytes) = 0;
  // The default reads and discards.
  virtual uint64_t skip_some(uint64_t count);

  std::string name_;
  uint64_t position_ = 0;
};

// A missing file, or a folder in its place, is Error{io}.
std::unique_ptr<ByteStream> open_file(const std::filesystem::path& path);

// One gzip member or several, one after the other.
std::unique_ptr<ByteStream> open_gzip(const std::filesystem::path& path);

// A file that is gzip if its first bytes say so, whatever its name.
std::unique_ptr<ByteStream> open_text(const std::filesystem::path& path);

// Bytes that someone else holds, and holds for as long as the stream lives.
std::unique_ptr<ByteStream> open_memory(std::span<const std::byte> bytes, std::string name);

// A regular file, open for reading from front to back.
Fd open_regular_file(const std::filesystem::path& path);

// Takes what a stream has read of a file out of the page cache, some 32 MiB at a time.
class CacheBroom {
 public:
  explicit CacheBroom(int fd) : fd_(fd) {}
  CacheBroom(const CacheBroom&) = delete;
  CacheBroom& operator=(const CacheBroom&) = delete;
  ~CacheBroom() { sweep(); }

  void note_read(uint64_t bytes);

 private:
  void sweep();

  int fd_;
  uint64_t unswept_bytes_ = 0;
};

// The members of zip archives, npz files among them, as streams. A member is inflated as it is
// read, never as a whole, so that its size does not matter.

// In the archive's order.
std::vector<std::string> zip_members(const std::filesystem::path& archive);

// Any number of streams may be open over one member. Its checksum is checked by the read that meets
// the end: whoever relies on the bytes reads up to there.
std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& archive,
                                            const std::string& member);

}  // namespace plimsoll::formats
