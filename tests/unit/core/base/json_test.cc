#include "base/json.h"

#include <gtest/gtest.h>

#include "base/text_file.h"
#include "temp_folder.h"

namespace plimsoll {
namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, DepthIsRefusedWithTheFileTheDepthAndTheLimit) {
  EXPECT_NO_THROW(read_json(nested(64), "a.json"));
  expect_error(ErrorKind::input, {"a.json", "65 deep", "64 is the most"},
               [] { read_json(nested(65), "a.json"); });
  expect_error(ErrorKind::input, {"400000 deep"},
               [] { read_json(std::string(400'000, '['), "a.json"); });
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  expect_error(ErrorKind::store, {"100 deep"},
               [&] { check_json(objects, "meta.json", {.kind = ErrorKind::store}); });
}

TEST(Json, BracketsInTextsAreNoDepth) {
  const std::string text = "[\"" + std::string(1000, '[') + R"(\"[[\\")" + "]";
  EXPECT_EQ(read_json(text, "a.json").at(0).get<std::string>().size(), 1000 + 4);
}

TEST(Json, SizeAndNumberOfValuesAreRefusedWithTheLimit) {
  expect_error(ErrorKind::input, {"a.json", "11 bytes", "10 is the most"},
               [] { read_json("[1,2,3,4,5]", "a.json", {.bytes = 10}); });
  expect_error(ErrorKind::input, {"a.json", "6 values", "5 is the most"},
               [] { read_json("[1,2,3,4,5]", "a.json", {.values = 5}); });
}

TEST(Json, WhatIsNoJsonIsAnErrorThatNamesTheFile) {
  expect_error(ErrorKind::input, {"a.json", "not JSON"}, [] { read_json("{", "a.json"); });
  expect_error(ErrorKind::input, {"a.json", "not JSON"}, [] { read_json("", "a.json"); });
}

TEST(Json, AValueOfAnotherTypeIsAnErrorThatNamesTheFile) {
  using nlohmann::json;
  const auto number = [](const json& object) { return whole_in<int>(object, "n"); };
  EXPECT_EQ(from_json<json>("{\"n\": -7}", "a.json", number), -7);
  for (const char* text : {"{}", "[]", "{\"n\": \"7\"}", "{\"n\": 7.5}", "{\"n\": 1e300}",
                           "{\"n\": 4294967296}", "{\"n\": 18446744073709551615}"}) {
    expect_error(ErrorKind::input, {"a.json"}, [&] { from_json<json>(text, "a.json", number); });
  }
  EXPECT_EQ((whole_in<uint64_t>(json::parse("{\"n\": 18446744073709551615}"), "n")), UINT64_MAX);
}

TEST(Json, LeavesOutALongMember) {
  const auto json = read_json(R"({"a": 1, "long": [1, {"long": 2}], "b": {"long": 3}})", "x.json",
                              {.without = "long"});
  EXPECT_EQ(json.dump(), R"({"a":1,"b":{}})");
}

TEST(Json, TextReplacesBytesThatAreNoUtf8) {
  const nlohmann::ordered_json json = {{"folder", "a\xff"}};
  EXPECT_EQ(json_text(json), "{\n  \"folder\": \"a\xef\xbf\xbd\"\n}");
}

TEST(SmallFile, IsRefusedBeyondItsLimit) {
  const TempFolder folder;
  write_file(folder / "a", "12345");
  EXPECT_EQ(read_small_file(folder / "a", 5), "12345");
  expect_error(ErrorKind::input, {(folder / "a").string(), "5 bytes", "4 is the most"},
               [&] { read_small_file(folder / "a", 4); });
  expect_error(ErrorKind::store, {}, [&] { read_small_file(folder / "a", 4, ErrorKind::store); });
  expect_error(ErrorKind::input, {"/dev/zero", "more than 1000 bytes"},
               [] { read_small_file("/dev/zero", 1000); });
  expect_error(ErrorKind::io, {"nowhere"}, [&] { read_small_file(folder / "nowhere", 4); });
  expect_error(ErrorKind::io, {folder.path().string()}, [&] { read_small_file(folder.path(), 4); });
}

}  // namespace
}  // namespace plimsoll
