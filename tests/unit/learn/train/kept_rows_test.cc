#include "train/kept_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "temp_folder.h"

namespace plimsoll::train {
namespace {

TEST(KeptRows, GiveBackInPiecesWhatWasAppendedInRows) {
  constexpr uint64_t kPiece = KeptRows::kPieceBytes;
  const TempFolder folder;
  memory::Ledger ledger(16 * kMiB);
  // Ends within a piece, at its end, and in the first one; rows do not divide a piece.
  for (const uint64_t bytes : {2 * kPiece + 700, 2 * kPiece, uint64_t{700}}) {
    std::vector<std::byte> all(bytes);
    const RandomStream stream(3, 0);
    for (uint64_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(stream.at(i) & 255);
    KeptRows rows(folder.path(), ledger);
    for (uint64_t i = 0; i < bytes; i += 100) {
      rows.append(std::span(all).subspan(i, std::min<uint64_t>(100, bytes - i)));
    }
    rows.finish();
    std::vector<std::byte> piece(kPiece);
    for (uint64_t i = 0; i < bytes; i += kPiece) {
      rows.read(i / kPiece, piece);
      const uint64_t count = std::min(kPiece, bytes - i);
      EXPECT_TRUE(std::equal(piece.begin(), piece.begin() + static_cast<int64_t>(count),
                             all.begin() + static_cast<int64_t>(i)));
    }
  }
  EXPECT_EQ(ledger.used_bytes(), 0U);
}

}  // namespace
}  // namespace plimsoll::train
