// Streams that read bytes once, from front to back: from a plain file, a gzip file, a member of a
// zip archive or memory. Streams remove what they read from the page cache: these files are larger
// than memory, and a memory limit counts the page cache.
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

// For one thread at a time. Throws Error{input} for truncated or corrupt data, naming the file and
// the byte, and Error{io} if the disk fails.
class ByteStream {
 public:
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  // Fills all of `bytes`, or less if the stream ends; returns how many.
  size_t read(std::span<std::byte> bytes);

  // Skips `count` bytes, or fewer if the stream ends; returns how many.
  uint64_t skip(uint64_t count);

  // For messages: "papers/raw/data.npz, member edge_index.npy".
  const std::string& name() const { return name_; }
  uint64_t position() const { return position_; }
  // How far the underlying file has been read. Differs from position() for a gzip file.
  virtual uint64_t file_position() const { return position_; }

 protected:
  explicit ByteStream(std::string name) : name_(std::move(name)) {}

 private:
  // Returns at least one byte unless the stream has ended.
  virtual size_t read_some(std::span<std::byte> bytes) = 0;
  // The default reads and discards.
  virtual uint64_t skip_some(uint64_t count);

  std::string name_;
  uint64_t position_ = 0;
};

// Throws Error{io} if the file is missing or is a folder.
std::unique_ptr<ByteStream> open_file(const std::filesystem::path& path);

// A gzip file of one or more gzip members.
std::unique_ptr<ByteStream> open_gzip(const std::filesystem::path& path);

// A plain or a gzip file: the first bytes decide, not the name.
std::unique_ptr<ByteStream> open_text(const std::filesystem::path& path);

// `bytes` must stay valid for as long as the stream lives.
std::unique_ptr<ByteStream> open_memory(std::span<const std::byte> bytes, std::string name);

// Opens a regular file for sequential reading; throws Error{io} if it is something else.
Fd open_regular_file(const std::filesystem::path& path);

// Removes what a stream has read from the page cache, about 32 MiB at a time.
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

// The names of the members of a zip archive (npz files are such archives), in the archive's order.
std::vector<std::string> zip_members(const std::filesystem::path& archive);

// A member is decompressed as it is read, never as a whole, so its size does not matter. Several
// streams may read the same member. The read that reaches the end compares the member's checksum:
// read to the end before you rely on the bytes.
std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& archive,
                                            const std::string& member);

}  // namespace plimsoll::formats
