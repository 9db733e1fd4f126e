#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "base/random.h"
#include "io/file.h"

namespace plimsoll::io {
namespace {

std::string random_text(size_t size) {
  const RandomStream stream(1, 1);
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(stream.at(i));
  return text;
}

// From xxHash itself: a store written by one version is checked by the next.
TEST(Checksum, IsXxh3OfSixtyFourBits) {
  EXPECT_EQ(Checksum().hex(), "2d06800538d394c2");
  EXPECT_EQ(checksum_of(""), "2d06800538d394c2");
  EXPECT_EQ(checksum_of("a"), "e6c632b61e964e1f");
  EXPECT_EQ(checksum_of("abc"), "78af5f94892f3950");
}

TEST(Checksum, KeepsLeadingZeros) {
  // Among a thousand digests some begin with a zero digit.
  bool leading_zero = false;
  for (int i = 0; i < 1000; ++i) {
    const std::string hex = checksum_of(std::to_string(i));
    ASSERT_EQ(hex.size(), 16U) << i;
    leading_zero = leading_zero || hex.front() == '0';
  }
  EXPECT_TRUE(leading_zero);
}

TEST(Checksum, DoesNotDependOnThePieces) {
  const std::string text = random_text(10'000);
  const std::string whole = checksum_of(text);
  for (const size_t piece : {1U, 7U, 64U, 240U, 4096U}) {
    Checksum checksum;
    for (size_t begin = 0; begin < text.size(); begin += piece) {
      const size_t size = std::min(piece, text.size() - begin);
      checksum.update(std::as_bytes(std::span(text).subspan(begin, size)));
    }
    EXPECT_EQ(checksum.hex(), whole) << piece;
  }
}

TEST(Checksum, ChangesWithEveryBit) {
  std::string text = random_text(300);
  const std::string before = checksum_of(text);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    const char flip = static_cast<char>(1 << (bit % 8));
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ flip);
    ASSERT_NE(checksum_of(text), before) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ flip);
  }
}

TEST(Checksum, MayBeAskedBetweenUpdates) {
  Checksum checksum;
  checksum.update(std::as_bytes(std::span(std::string_view("a"))));
  EXPECT_EQ(checksum.hex(), checksum_of("a"));
  checksum.update(std::as_bytes(std::span(std::string_view("bc"))));
  EXPECT_EQ(checksum.hex(), checksum_of("abc"));
}

}  // namespace
}  // namespace plimsoll::io
