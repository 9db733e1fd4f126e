#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/text_file.h"
#include "temp_folder.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(std::string_view text, size_t block_bytes) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  for (size_t at = 0; at < text.size(); at += block_bytes) {
    splitter.add(text.substr(at, block_bytes));
  }
  splitter.finish();
  return lines;
}

TEST(Lines, EndWithLineFeedsAndCarriageReturnsWhereverABlockEnds) {
  for (const size_t block_bytes : {1, 2, 3, 5, 100}) {
    EXPECT_THAT(lines_of("one\n\n10%\r20%\r\nlast", block_bytes),
                ElementsAre("one", "10%", "20%", "last"));
  }
  EXPECT_TRUE(lines_of("", 1).empty());
  EXPECT_TRUE(lines_of("\r\n\r\n", 1).empty());
}

TEST(Lines, ALineWithoutAnEndComesInPiecesThatOverlap) {
  std::string text(10 * kMostLineBytes + 123, '.');
  constexpr std::string_view kWord = "accuracy: 0.91";
  for (size_t at = 1000; at + kWord.size() < text.size(); at += 4999) {
    text.replace(at, kWord.size(), kWord);
  }
  for (const size_t block_bytes : {size_t{1000}, size_t{65536}, text.size()}) {
    size_t found = 0;
    std::string last;
    for (const std::string& piece : lines_of(text, block_bytes)) {
      EXPECT_LE(piece.size(), kMostLineBytes);
      // What was in the overlap has been seen.
      const size_t begin = last.empty() ? 0 : kLineOverlapBytes - kWord.size() + 1;
      if (!last.empty()) {
        EXPECT_EQ(piece.substr(0, kLineOverlapBytes), last.substr(last.size() - kLineOverlapBytes));
      }
      for (size_t at = piece.find(kWord, begin); at != std::string::npos;
           at = piece.find(kWord, at + 1)) {
        ++found;
      }
      last = piece;
    }
    EXPECT_EQ(found, (text.size() - 1000 - kWord.size() + 4998) / 4999);
  }
}

TEST(Lines, OfAFileAreThoseOfItsText) {
  const TempFolder folder;
  write_file(folder / "log", "a\r\nb" + std::string(100'000, 'c'));
  std::vector<size_t> sizes;
  for_each_line(folder / "log", [&](std::string_view line) { sizes.push_back(line.size()); });
  EXPECT_THAT(sizes, ElementsAre(1, kMostLineBytes, 100'001 - kMostLineBytes + kLineOverlapBytes));
  for_each_line(folder / "nowhere", [&](std::string_view) { FAIL(); });
}

}  // namespace
}  // namespace plimsoll
