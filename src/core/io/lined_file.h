// A line across a file: the part above it is in memory, the part below is read when needed. Files
// are written hot first, so the line is the whole cache: no table, no eviction, one comparison.
//
// Address space for the whole file is reserved at once and costs nothing; the line moves by filling
// pages or giving them back.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "io/random_read.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::io {

// Lines are multiples of this: a large page.
constexpr uint64_t kLineStepBytes = uint64_t{2} << 20;

// Thread-safe.
class LinedFile {
 public:
  struct Shape {
    uint64_t bytes = 0;  // of the file
    // Places to reserve behind it, see Area: for readers and for windows.
    unsigned areas = 0;
    uint64_t area_bytes = 0;  // of each
    unsigned windows = 0;
    uint64_t window_bytes = 0;  // of each, at most
  };
  // The line is at 0. Nothing is leased.
  LinedFile(memory::Ledger& ledger, std::string_view tag, const std::filesystem::path& path,
            const Shape& shape);
  // Data already in memory, without a file. The second form does not own it.
  LinedFile(memory::Pages pages, uint64_t bytes);
  explicit LinedFile(std::span<const std::byte> resident);
  LinedFile(const LinedFile&) = delete;
  LinedFile& operator=(const LinedFile&) = delete;
  ~LinedFile();

  uint64_t bytes() const { return shape_.bytes; }
  uint64_t line_bytes() const;
  bool resident() const { return line_bytes() == shape_.bytes; }
  const RowFile& file() const { return *file_; }
  // Throws Error{store} if the file changed since it was opened.
  void check_unchanged() const;

  // While it lives, bytes before line_bytes stay where they are. A thread holds one at a time, and
  // takes no lease meanwhile: that might have to lower the line.
  class Use {
   public:
    explicit Use(const LinedFile& file);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();
    const std::byte* const data;
    const uint64_t line_bytes;

   private:
    const LinedFile& file_;
  };

  // Reads up to the new line, rounded down to a step unless it is the end, or as far as the ledger
  // has room to spare. Not by two threads at once.
  void raise(uint64_t line_bytes, unsigned threads,
             const std::function<void(std::span<const std::byte> piece)>& on_piece);
  // Gives back at least `bytes`, or everything; nothing of memory that is shared.
  void lower_by(uint64_t bytes);

  // For processes that share one copy. share() prepares memory for a line up to `line_bytes`, which
  // raise() then fills: a file without a name, that another process opens as /proc/PID/fd/N. Call
  // it while the line is at 0.
  void share(uint64_t line_bytes);
  // The descriptor N of the shared memory; -1 if nothing is shared.
  int shared_memory() const { return shared_memory_.get(); }
  // Maps the memory that another process has shared and filled up to `line_bytes`, and leases it
  // like memory of its own.
  void adopt(const Fd& memory, uint64_t line_bytes);
  // Moves this process's line in shared memory, which must be filled up to there: down at once, up
  // if the ledger has room. What is above the line stays in memory.
  void move_shared_line(uint64_t line_bytes);
  // Returns to the system what is above the line in the memory of share(). No process may use it
  // any more.
  void release_above_line();

  // Leased memory behind the file's address space, so that one base and one index reach both; there
  // are as many places as the shape says. Must end before the file.
  class Area {
   public:
    Area(LinedFile& file, std::string_view tag);
    // A window's: as long as the lease, which is at most as long as the shape says.
    Area(LinedFile& file, memory::Lease window);
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;
    ~Area();
    std::span<std::byte> memory() const { return memory_; }
    // Makes a window's area longer; what it holds stays.
    void extend(memory::Lease more);

   private:
    Area(LinedFile& file, memory::Lease lease, size_t first_place, size_t last_place);
    void check_window();

    LinedFile& file_;
    memory::Lease lease_;
    size_t place_;
    std::span<std::byte> memory_;
  };

 private:
  const std::byte* data() const;
  uint64_t goal_of(uint64_t line_bytes) const;
  void wait_for_users(std::unique_lock<std::mutex>& lock);
  void drop(uint64_t begin, uint64_t end);
  void map_shared(int memory, uint64_t bytes, int protection);
  std::byte* area(size_t place) const;

  memory::Ledger* ledger_ = nullptr;
  const std::string tag_;
  const Shape shape_;
  std::unique_ptr<RowFile> file_;
  std::filesystem::path path_;
  memory::Pages own_pages_;
  const std::byte* resident_ = nullptr;  // without a file
  std::byte* reserved_ = nullptr;        // with one
  uint64_t reserved_bytes_ = 0;
  Fd shared_memory_;           // of share()
  uint64_t shared_bytes_ = 0;  // mapped, so far as memory is shared with other processes

  mutable std::mutex mutex_;       // guards what follows
  std::vector<bool> taken_areas_;  // the readers', then the windows'
  mutable std::condition_variable changed_;
  mutable uint64_t users_ = 0;
  bool lowering_ = false;
  uint64_t line_bytes_ = 0;
  memory::Lease lease_;
};

}  // namespace plimsoll::io
