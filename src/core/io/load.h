// A whole file into leased memory, past the page cache, by several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "memory/buffer.h"

namespace plimsoll::io {

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

}  // namespace plimsoll::io
