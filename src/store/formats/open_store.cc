#include "formats/open_store.h"

#include <fmt/format.h>

#include <chrono>

#include "base/error.h"
#include "base/units.h"
#include "formats/file_search.h"
#include "formats/recognise.h"

namespace plimsoll::formats {

graph::Store open_store(const std::filesystem::path& path) {
  if (formats::is_there(path) && !formats::is_there(path / "meta.json")) {
    fail(ErrorKind::store, "{} is not a store (it has no meta.json), but {}", path.string(),
         formats::recognise(path));
  }
  return graph::open(path);
}

std::string verify_store(const graph::Store& store, memory::Ledger& ledger, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t bytes = 0;
  for (const auto& [file, about] : store.meta().files) bytes += about.bytes;
  progress.start_step("checking the files", "bytes", bytes);
  graph::verify(store, ledger, [&](uint64_t count) { progress.add(count); });
  progress.finish_step();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return fmt::format("all {} files match their checksums ({} in {})", store.meta().files.size(),
                     format_bytes(bytes), format_seconds(seconds));
}

}  // namespace plimsoll::formats
