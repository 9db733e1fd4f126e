// Many small reads at random places of a file, straight from the disk: a disk gives its full rate
// only while hundreds of requests wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/file.h"
#include "memory/ledger.h"

namespace plimsoll::io {

// A file to be read at random. Offset, length and memory of every read are multiples of
// `alignment`: 512 where the disk and its file system take that, else 4096, and 1 where there is
// no O_DIRECT and reads go through the page cache.
struct RowFile {
  OpenFile file;
  uint64_t size_bytes = 0;
  uint64_t alignment = 1;
  timespec modified = {};  // when it was opened
};
RowFile open_rows(const std::filesystem::path& path);

// Whether it has been written to since it was opened: bytes read before and after need not belong
// together.
bool changed(const RowFile& file);

// One read. The last of a file may reach beyond its end by less than an alignment; bytes from there
// are undefined.
struct Piece {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  std::byte* to = nullptr;
};

enum class ReadMethod { automatic, uring, threads };
constexpr unsigned kReadDepth = 256;
constexpr uint64_t kQueueBytes = uint64_t{1} << 20;  // the most that a queue of that depth leases

// Used by one thread at a time, not always the same. The ledger must outlive it.
class ReadQueue {
 public:
  // With up to `depth` reads in flight. `automatic` is io_uring if this program and the kernel have
  // it, otherwise threads. Throws Error{io} if a method requested by name is missing.
  static std::unique_ptr<ReadQueue> open(memory::Ledger& ledger,
                                         ReadMethod method = ReadMethod::automatic,
                                         unsigned depth = kReadDepth);
  ReadQueue(const ReadQueue&) = delete;
  ReadQueue& operator=(const ReadQueue&) = delete;
  virtual ~ReadQueue() = default;

  // Returns when all pieces are read. Throws Error{io} if the disk refuses one, Error{store} if the
  // file has become shorter. After an error no read is in flight, and the queue can be used again.
  void read(const RowFile& file, std::span<const Piece> pieces);

  virtual std::string method() const = 0;  // "io_uring", "pread on 32 threads"

  // Since it was opened.
  struct Counts {
    uint64_t reads = 0;
    uint64_t bytes = 0;
    double seconds = 0;
    Counts& operator+=(const Counts& other) {
      reads += other.reads;
      bytes += other.bytes;
      seconds += other.seconds;
      return *this;
    }
  };
  const Counts& counts() const { return counts_; }

 protected:
  ReadQueue() = default;

 private:
  virtual void read_all(const RowFile& file, std::span<const Piece> pieces) = 0;

  Counts counts_;
};

// For the two kinds of queues: uring_queue.cc and thread_queue.cc.

constexpr unsigned kMostReadDepth = 4096;

// No queue if the program was built without liburing or the kernel refuses; `why` says which.
struct UringAttempt {
  std::unique_ptr<ReadQueue> queue;
  std::string why;
};
UringAttempt open_uring_queue(memory::Ledger& ledger, unsigned depth);

std::unique_ptr<ReadQueue> open_thread_queue(memory::Ledger& ledger, unsigned depth);

enum class ReadStep { done, again, failed };

// Subtracts a read's result (bytes or -errno) from the rest of its piece: a read may be interrupted
// or return fewer bytes than asked.
ReadStep advance(const RowFile& file, int64_t result, Piece& rest);

// A read that cannot go on; error_number 0: the file ended before it.
struct ReadFailure {
  Piece rest;
  int error_number = 0;
};
ReadFailure failure_of(int64_t result, const Piece& rest);
[[noreturn]] void fail_read(const RowFile& file, const ReadFailure& failure);

}  // namespace plimsoll::io
