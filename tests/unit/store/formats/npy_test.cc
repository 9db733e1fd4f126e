#include "formats/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "formats/test_files.h"

namespace plimsoll::formats {
namespace {

std::unique_ptr<ByteStream> stream_of(const std::string& bytes) {
  return open_memory(std::as_bytes(std::span(bytes)), "a.npy");
}

NpyHeader parse(const std::string& bytes) { return parse_npy_header(*stream_of(bytes)); }

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
  expect_error(ErrorKind::input, parts, [&] { parse(bytes); });
}

TEST(NpyHeader, ReadsVersionsOneTwoAndThree) {
  for (const int version : {1, 2, 3}) {
    const auto header = parse(npy_around(npy_dict("<i8", {2, 5}), "", version));
    EXPECT_EQ(header.dtype, Dtype::i8);
    EXPECT_EQ(header.shape, (std::vector<uint64_t>{2, 5}));
    EXPECT_EQ(header.value_count, 10U);
    EXPECT_FALSE(header.fortran_order);
  }
}

TEST(NpyHeader, LeavesTheStreamAtTheFirstValue) {
  const std::string bytes = npy<uint8_t>("|u1", {1}, {42});
  const auto stream = stream_of(bytes);
  parse_npy_header(*stream);
  EXPECT_EQ(stream->position(), bytes.size() - 1);
}

TEST(NpyHeader, ReadsEveryRankAndPythonTwosLongs) {
  EXPECT_EQ(parse(npy_around(npy_dict("<f4", {}), "")).value_count, 1U);
  EXPECT_EQ(parse(npy_around(npy_dict("<f4", {7}), "")).value_count, 7U);
  EXPECT_EQ(parse(npy_around(npy_dict("<f4", {2, 3, 4}), "")).value_count, 24U);
  EXPECT_EQ(parse(npy_around(npy_dict("<f4", {2, 0, 4}), "")).value_count, 0U);
  const std::string old = "{'shape': (3L, 4L), 'fortran_order': False, 'descr': '<f8'}";
  EXPECT_EQ(parse(npy_around(old, "")).value_count, 12U);
}

TEST(NpyHeader, KnowsTheDtypes) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"|b1", "bool"},   {"|i1", "int8"},    {"|u1", "uint8"},   {"<i2", "int16"},
      {"<u2", "uint16"}, {"<i4", "int32"},   {"<u4", "uint32"},  {"<i8", "int64"},
      {"<u8", "uint64"}, {"<f2", "float16"}, {"<f4", "float32"}, {"<f8", "float64"}};
  for (const auto& [descr, expected] : names) {
    EXPECT_EQ(describe(parse(npy_around(npy_dict(descr, {3}), ""))), expected + " of shape (3,)");
  }
}

TEST(NpyHeader, RefusesOtherDtypesWithARemedy) {
  expect_refused(npy_around(npy_dict(">i8", {3}), ""), {"a.npy is big-endian", "astype('<i8')"});
  expect_refused(npy_around(npy_dict("<c8", {3}), ""), {"a.npy has dtype '<c8'", "astype"});
  expect_refused(npy_around(npy_dict("|O", {3}), ""), {"a.npy has dtype '|O'"});
  expect_refused(npy_around(npy_dict("|i8", {3}), ""), {"byte order"});
  expect_refused(
      npy_around("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }", ""),
      {"a.npy is an array of records"});
}

TEST(NpyHeader, RefusesWhatIsNoNpyFile) {
  expect_refused("", {"a.npy is not an npy array"});
  expect_refused("0,1\n2,3\n", {"a.npy is not an npy array", "np.save"});
  expect_refused(std::string("\x93NUMPY\x04\x00\x10\x00", 10), {"npy version 4.0"});
}

TEST(NpyHeader, RefusesATruncatedHeader) {
  const std::string bytes = npy_around(npy_dict("<f4", {3}), "");
  for (size_t length = 6; length < bytes.size(); ++length) {
    expect_refused(bytes.substr(0, length), {fmt::format("ends at byte {}", length), "cut short"});
  }
}

TEST(NpyHeader, RefusesAnOversizedHeaderBeforeReadingIt) {
  expect_refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), {"4294967295 bytes"});
}

TEST(NpyHeader, RefusesDamagedDicts) {
  for (const std::string dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } more"}) {
    SCOPED_TRACE(dict);
    expect_refused(npy_around(dict, ""), {"a.npy"});
  }
}

TEST(NpyHeader, RefusesShapesThatOverflow) {
  const uint64_t big = uint64_t{1} << 32;
  expect_refused(npy_around(npy_dict("<f4", {big, big}), ""), {"larger than any file"});
  expect_refused(npy_around(npy_dict("<i8", {uint64_t{1} << 61}), ""), {"larger than any file"});
  EXPECT_EQ(parse(npy_around(npy_dict("<i8", {uint64_t{1} << 59}), "")).value_count,
            uint64_t{1} << 59);
  expect_refused(npy_around(npy_dict("<f4", std::vector<uint64_t>(65, 1)), ""), {"64 extents"});
}

TEST(NpyHeader, MindsFortranOrderOnlyWhereItMatters) {
  EXPECT_TRUE(parse(npy_around(npy_dict("<f4", {3, 4}, true), "")).fortran_order);
  EXPECT_FALSE(parse(npy_around(npy_dict("<f4", {3, 1}, true), "")).fortran_order);
  EXPECT_FALSE(parse(npy_around(npy_dict("<f4", {3}, true), "")).fortran_order);
}

TEST(NpyReader, RefusesFortranOrderWithARemedy) {
  const std::string bytes = npy_around(npy_dict("<i8", {2, 4}, true), std::string(64, '\0'));
  expect_error(ErrorKind::input, {"a.npy", "fortran_order", "np.ascontiguousarray"},
               [&] { NpyReader reader(stream_of(bytes)); });
  EXPECT_TRUE(NpyReader(stream_of(bytes), NpyOrder::any).header().fortran_order);
}

// What the three kinds of reading make of an array, in pieces of two values.
template <typename Out, typename Read>
std::vector<Out> read_all(const std::string& bytes, Read read) {
  NpyReader reader(stream_of(bytes));
  std::vector<Out> values;
  std::vector<Out> piece(2);
  while (const size_t count = read(reader, std::span(piece))) {
    values.insert(values.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(count));
  }
  return values;
}

std::vector<uint32_t> ids_of(const std::string& bytes, uint64_t nodes = 5) {
  return read_all<uint32_t>(bytes, [&](NpyReader& reader, std::span<uint32_t> piece) {
    return reader.read_ids(piece, nodes);
  });
}
std::vector<float> features_of(const std::string& bytes) {
  return read_all<float>(
      bytes, [](NpyReader& reader, std::span<float> piece) { return reader.read_features(piece); });
}
std::vector<int32_t> labels_of(const std::string& bytes) {
  return read_all<int32_t>(
      bytes, [](NpyReader& reader, std::span<int32_t> piece) { return reader.read_labels(piece); });
}

TEST(NpyReader, ReadsIdsOfEveryIntegerType) {
  const std::vector<uint32_t> expected = {4, 0, 2};
  EXPECT_EQ(ids_of(npy<int8_t>("|i1", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<uint8_t>("|u1", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<int16_t>("<i2", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<uint16_t>("<u2", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<int32_t>("<i4", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<uint32_t>("<u4", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<int64_t>("<i8", {3}, {4, 0, 2})), expected);
  EXPECT_EQ(ids_of(npy<uint64_t>("<u8", {3}, {4, 0, 2})), expected);
}

TEST(NpyReader, RefusesIdsThatAreNoNodesAndNamesTheirIndex) {
  expect_error(ErrorKind::input, {"a.npy at [1, 0]: id 7 but there are only 5 nodes"}, [] {
    ids_of(npy<int64_t>("<i8", {2, 2}, {1, 2, 7, 3}));
  });
  expect_error(ErrorKind::input, {"a.npy at [1, 1]: id -3;"}, [] {
    ids_of(npy<int8_t>("|i1", {2, 2}, {1, 2, 4, -3}));
  });
  expect_error(ErrorKind::input,
               {"a.npy at [0]: id 4294967296 but there are only 4294967295 nodes"},
               [] { ids_of(npy<int64_t>("<i8", {1}, {int64_t{1} << 32}), 0xffffffff); });
  EXPECT_EQ(ids_of(npy<uint32_t>("<u4", {1}, {0xfffffffe}), 0xffffffff).at(0), 0xfffffffe);
}

TEST(NpyReader, NamesABadIdFarIntoTheArray) {
  std::vector<int64_t> ids(100'000, 4);
  ids[99'999] = 5;
  const std::string bytes = npy("<i8", {100'000}, ids);
  expect_error(ErrorKind::input, {"at [99999]: id 5"}, [&] { ids_of(bytes); });
}

TEST(NpyReader, RefusesFloatsAndMasksAsIds) {
  expect_error(ErrorKind::input, {"a.npy is float32", "astype('int64')"},
               [] { ids_of(npy<float>("<f4", {1}, {1})); });
  expect_error(ErrorKind::input, {"a.npy is bool", "np.flatnonzero"},
               [] { ids_of(npy<uint8_t>("|b1", {1}, {1})); });
  EXPECT_TRUE(ids_of(npy<double>("<f8", {0}, {})).empty());
}

TEST(NpyReader, ReadsFeaturesOfEveryType) {
  const std::vector<float> expected = {3, 0, 1};
  EXPECT_EQ(features_of(npy<float>("<f4", {3}, {3, 0, 1})), expected);
  EXPECT_EQ(features_of(npy<double>("<f8", {3}, {3, 0, 1})), expected);
  EXPECT_EQ(features_of(npy<uint16_t>("<f2", {3}, {0x4200, 0, 0x3c00})), expected);
  EXPECT_EQ(features_of(npy<int8_t>("|i1", {3}, {3, 0, 1})), expected);
  EXPECT_EQ(features_of(npy<uint64_t>("<u8", {3}, {3, 0, 1})), expected);
  EXPECT_EQ(features_of(npy<uint8_t>("|b1", {3}, {3, 0, 1})), (std::vector<float>{1, 0, 1}));
}

TEST(NpyReader, ReadsLongArraysOfHalves) {
  const std::string bytes = npy("<f2", {5000}, std::vector<uint16_t>(5000, 0x4200));
  NpyReader reader(stream_of(bytes));
  std::vector<float> values(6000);
  EXPECT_EQ(reader.read_features(values), 5000U);
  EXPECT_EQ(std::count(values.begin(), values.end(), 3.0F), 5000);
}

TEST(NpyReader, ReadsLabelsAndTakesNanAndMinusOneAsUnlabelled) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(labels_of(npy<float>("<f4", {3, 1}, {3, nan, 171})),
            (std::vector<int32_t>{3, -1, 171}));
  EXPECT_EQ(labels_of(npy<uint16_t>("<f2", {2}, {0x4200, 0x7e00})), (std::vector<int32_t>{3, -1}));
  EXPECT_EQ(labels_of(npy<int64_t>("<i8", {3}, {3, -1, 2147483646})),
            (std::vector<int32_t>{3, -1, 2147483646}));
  EXPECT_EQ(labels_of(npy<uint8_t>("|u1", {2}, {3, 255})), (std::vector<int32_t>{3, 255}));
}

TEST(NpyReader, RefusesNumbersThatAreNoLabels) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto refuse = [](const std::string& bytes, const std::string& words) {
    expect_error(ErrorKind::input, {words}, [&] { labels_of(bytes); });
  };
  refuse(npy<int32_t>("<i4", {3, 1}, {0, 1, -2}), "a.npy at [2, 0]: label -2;");
  refuse(npy<int64_t>("<i8", {1}, {int64_t{1} << 31}), "label 2147483648;");
  refuse(npy<uint64_t>("<u8", {1}, {~uint64_t{0}}), "label 18446744073709551615;");
  refuse(npy<float>("<f4", {1}, {1.5F}), "label 1.5;");
  refuse(npy<double>("<f8", {1}, {2147483648.0}), "label 2147483648");
  refuse(npy<double>("<f8", {1}, {infinity}), "label inf;");
}

TEST(NpyReader, ReadsCounts) {
  const std::string bytes = npy<int64_t>("<i8", {1}, {5'000'000'000});
  NpyReader reader(stream_of(bytes));
  std::vector<uint64_t> counts(1);
  EXPECT_EQ(reader.read_counts(counts), 1U);
  EXPECT_EQ(counts[0], 5'000'000'000U);
  const std::string negative = npy<int64_t>("<i8", {1}, {-5});
  NpyReader negative_reader(stream_of(negative));
  expect_error(ErrorKind::input, {"a.npy at [0]: the count is -5"},
               [&] { negative_reader.read_counts(counts); });
}

TEST(NpyReader, SkipsValues) {
  const std::string bytes = npy<int32_t>("<i4", {5}, {0, 1, 2, 3, 4});
  NpyReader reader(stream_of(bytes));
  reader.skip(3);
  EXPECT_EQ(reader.values_left(), 2U);
  std::vector<uint32_t> ids(5);
  EXPECT_EQ(reader.read_ids(ids, 5), 2U);
  EXPECT_EQ(ids[0], 3U);
}

TEST(NpyReader, RefusesDataThatEndsEarly) {
  const std::string bytes = npy<float>("<f4", {3}, {1, 2, 3});
  const std::string cut = bytes.substr(0, bytes.size() - 1);
  expect_error(
      ErrorKind::input,
      {fmt::format("a.npy ends at byte {}", cut.size()), "float32 of shape (3,)", "12 bytes"},
      [&] { features_of(cut); });
  expect_error(ErrorKind::input, {"cut short"}, [&] { labels_of(cut); });
  NpyReader reader(stream_of(cut));
  expect_error(ErrorKind::input, {"cut short"}, [&] { reader.skip(3); });
}

TEST(NpyReader, RefusesBytesBehindTheData) {
  const std::string bytes = npy<float>("<f4", {3}, {1, 2, 3});
  expect_error(ErrorKind::input, {"a.npy: bytes follow", fmt::format("byte {}", bytes.size())},
               [&] { features_of(bytes + "x"); });
  expect_error(ErrorKind::input, {"a.npy: bytes follow"}, [&] { labels_of(bytes + "x"); });
}

}  // namespace
}  // namespace plimsoll::formats
