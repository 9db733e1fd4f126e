#include "io/load.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/parallel.h"
#include "io/file.h"

namespace plimsoll::io {
namespace {

constexpr uint64_t kPieceBytes = 4 * kStreamBytes;

}  // namespace

void load(const LoadRange& range, unsigned threads,
          const std::function<void(std::span<const std::byte> piece)>& on_piece) {
  if (range.out.empty()) return;
  const std::filesystem::path& path = range.path;
  OpenFile direct = open_uncached(path, O_RDONLY);
  if (!range.name.empty()) direct.path = range.name;
  // O_DIRECT moves whole blocks only; the file's last bytes come through a plain descriptor.
  const OpenFile plain{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), direct.path, false};
  if (!plain.fd) fail_errno("open", plain.path, errno);
  const uint64_t pieces = (range.out.size() + kPieceBytes - 1) / kPieceBytes;
  parallel_for(static_cast<unsigned>(std::min<uint64_t>(threads, pieces)), pieces, [&](size_t i) {
    const uint64_t first = i * kPieceBytes;
    const auto piece =
        range.out.subspan(first, std::min<uint64_t>(kPieceBytes, range.out.size() - first));
    const uint64_t offset = range.begin + first;
    const uint64_t whole = piece.size() / kBlockBytes * kBlockBytes;
    read_fully(direct, piece.first(whole), offset);
    read_fully(plain, piece.subspan(whole), offset + whole);
    if (!direct.direct) {
      ::posix_fadvise(direct.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(piece.size()),
                      POSIX_FADV_DONTNEED);
    }
    on_piece(piece);
  });
}

}  // namespace plimsoll::io
