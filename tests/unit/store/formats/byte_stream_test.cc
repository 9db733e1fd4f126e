#include "formats/byte_stream.h"

#include <gtest/gtest.h>

#include <array>

#include "formats/test_files.h"

namespace plimsoll::formats {
namespace {

std::string read_rest(ByteStream& stream) {
  std::string text;
  std::array<char, 1000> piece = {};
  while (const size_t count = stream.read(std::as_writable_bytes(std::span(piece)))) {
    text.append(piece.data(), count);
  }
  return text;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

TEST(ByteStream, ReadsAPlainFileAndKnowsItsPosition) {
  const TempFolder folder;
  write_file(folder / "a.txt", "0123456789");
  const auto stream = open_file(folder / "a.txt");
  std::array<std::byte, 4> start = {};
  EXPECT_EQ(stream->read(start), 4U);
  EXPECT_EQ(stream->position(), 4U);
  EXPECT_EQ(stream->name(), (folder / "a.txt").string());
  EXPECT_EQ(read_rest(*stream), "456789");
  EXPECT_EQ(stream->position(), 10U);
}

TEST(ByteStream, SkipsInAPlainFileButNotBeyondItsEnd) {
  const TempFolder folder;
  write_file(folder / "a.txt", "0123456789");
  const auto stream = open_file(folder / "a.txt");
  EXPECT_EQ(stream->skip(7), 7U);
  std::array<std::byte, 1> next = {};
  EXPECT_EQ(stream->read(next), 1U);
  EXPECT_EQ(static_cast<char>(next[0]), '7');
  EXPECT_EQ(stream->skip(100), 2U);
  EXPECT_EQ(stream->position(), 10U);
}

TEST(ByteStream, ReadsGzipOfSeveralMembersAsOne) {
  const TempFolder folder;
  const std::string text = long_text();
  write_file(folder / "a.gz", gzipped(text) + gzipped("") + gzipped("end"));
  EXPECT_EQ(read_rest(*open_gzip(folder / "a.gz")), text + "end");
}

TEST(ByteStream, SkipsInGzip) {
  const TempFolder folder;
  const std::string text = long_text();
  write_file(folder / "a.gz", gzipped(text));
  const auto stream = open_gzip(folder / "a.gz");
  EXPECT_EQ(stream->skip(500'000), 500'000U);
  EXPECT_EQ(read_rest(*stream), text.substr(500'000));
  EXPECT_EQ(stream->skip(1), 0U);
}

TEST(ByteStream, TellsGzipFromPlainByTheBytesNotTheName) {
  const TempFolder folder;
  write_file(folder / "plain.gz", "1,2\n");
  write_file(folder / "packed.csv", gzipped("3,4\n"));
  write_file(folder / "empty", "");
  EXPECT_EQ(read_rest(*open_text(folder / "plain.gz")), "1,2\n");
  EXPECT_EQ(read_rest(*open_text(folder / "packed.csv")), "3,4\n");
  EXPECT_EQ(read_rest(*open_text(folder / "empty")), "");
}

TEST(ByteStream, NamesFileAndByteOfTruncatedGzip) {
  const TempFolder folder;
  const std::string packed = gzipped(long_text());
  write_file(folder / "a.gz", packed.substr(0, packed.size() / 2));
  expect_error(ErrorKind::input,
               {(folder / "a.gz").string(), fmt::format("byte {}", packed.size() / 2), "middle"},
               [&] { read_rest(*open_gzip(folder / "a.gz")); });
  write_file(folder / "b.gz", "");
  expect_error(ErrorKind::input, {"b.gz", "byte 0"},
               [&] { read_rest(*open_gzip(folder / "b.gz")); });
}

TEST(ByteStream, NamesFileAndByteOfCorruptGzip) {
  const TempFolder folder;
  std::string packed = gzipped(long_text());
  packed[packed.size() - 6] ^= 1;  // in the checksum
  write_file(folder / "a.gz", packed);
  expect_error(ErrorKind::input, {"a.gz", "byte ", "incorrect data check"},
               [&] { read_rest(*open_gzip(folder / "a.gz")); });
  write_file(folder / "b.gz", gzipped("1") + "garbage");
  expect_error(ErrorKind::input, {"b.gz", "incorrect header check"},
               [&] { read_rest(*open_gzip(folder / "b.gz")); });
}

TEST(ByteStream, RefusesAMissingFileAndAFolder) {
  const TempFolder folder;
  const std::string missing = folder / "missing";
  expect_error(ErrorKind::io, {missing}, [&] { open_file(missing); });
  expect_error(ErrorKind::io, {missing}, [&] { open_text(missing); });
  expect_error(ErrorKind::io, {missing}, [&] { open_zip_member(missing, "a"); });
  expect_error(ErrorKind::io, {"is a folder"}, [&] { open_file(folder.path()); });
  expect_error(ErrorKind::io, {"is a folder"}, [&] { zip_members(folder.path()); });
}

class ZipStream : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    write_zip(file_, {{"a.npy", "first"}, {"b.npy", text_}, {"empty.npy", ""}}, GetParam());
  }

  const TempFolder folder_;
  const std::filesystem::path file_ = folder_ / "data.npz";
  const std::string text_ = long_text();
};

TEST_P(ZipStream, ListsAndReadsMembers) {
  EXPECT_EQ(zip_members(file_), (std::vector<std::string>{"a.npy", "b.npy", "empty.npy"}));
  EXPECT_EQ(read_rest(*open_zip_member(file_, "a.npy")), "first");
  EXPECT_EQ(read_rest(*open_zip_member(file_, "b.npy")), text_);
  EXPECT_EQ(read_rest(*open_zip_member(file_, "empty.npy")), "");
}

TEST_P(ZipStream, ReadsOneMemberByTwoStreamsAtOnce) {
  const auto front = open_zip_member(file_, "b.npy");
  const auto back = open_zip_member(file_, "b.npy");
  EXPECT_EQ(back->skip(1'000'000), 1'000'000U);
  EXPECT_EQ(back->position(), 1'000'000U);
  EXPECT_EQ(read_rest(*front), text_);
  EXPECT_EQ(read_rest(*back), text_.substr(1'000'000));
}

TEST_P(ZipStream, NamesTheMembersThereAreWhenOneIsMissing) {
  expect_error(ErrorKind::input, {"data.npz has no member c.npy", "a.npy, b.npy, empty.npy"},
               [&] { open_zip_member(file_, "c.npy"); });
}

TEST_P(ZipStream, NamesMemberAndByteOfCorruptData) {
  std::string bytes = read_file(file_);
  bytes[bytes.size() / 2] ^= 0x55;
  write_file(file_, bytes);
  expect_error(ErrorKind::input, {"data.npz, member b.npy, byte "},
               [&] { read_rest(*open_zip_member(file_, "b.npy")); });
}

TEST_P(ZipStream, RefusesATruncatedArchive) {
  const std::string bytes = read_file(file_);
  write_file(file_, bytes.substr(0, bytes.size() / 2));
  expect_error(ErrorKind::input, {"data.npz", "zip archive"}, [&] { zip_members(file_); });
  expect_error(ErrorKind::input, {"data.npz", "zip archive"},
               [&] { open_zip_member(file_, "b.npy"); });
}

TEST_P(ZipStream, RefusesEncryptedMembers) {
  write_zip(folder_ / "secret.npz", {{"a.npy", "first"}}, GetParam(), "password");
  expect_error(ErrorKind::input, {"secret.npz, member a.npy is encrypted", "without a password"},
               [&] { open_zip_member(folder_ / "secret.npz", "a.npy"); });
}

INSTANTIATE_TEST_SUITE_P(StoredAndDeflated, ZipStream,
                         testing::Values(ZIP_CM_STORE, ZIP_CM_DEFLATE), [](const auto& test) {
                           return test.param == ZIP_CM_STORE ? "Stored" : "Deflated";
                         });

TEST(ByteStream, RefusesOtherZipMethods) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"a.npy", "first"}}, ZIP_CM_BZIP2);
  expect_error(ErrorKind::input, {"a.npz, member a.npy is compressed by bzip2", "np.savez"},
               [&] { open_zip_member(folder / "a.npz", "a.npy"); });
}

}  // namespace
}  // namespace plimsoll::formats
