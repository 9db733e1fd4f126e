#include "graph/meta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "temp_folder.h"
#include "tiny_store.h"

namespace plimsoll::graph {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Meta whole_meta() {
  Meta meta = meta_of({});
  for (const auto& [file, bytes] : expected_files(meta))
    meta.files[file] = {bytes, "0123456789abcdef"};
  return meta;
}

// What parse_meta says to the text of whole_meta() with the value at `pointer` replaced.
std::string refusal_of(const std::string& pointer, const json& value) {
  json text = json::parse(to_text(whole_meta()));
  text[json::json_pointer(pointer)] = value;
  try {
    parse_meta(text.dump(), "x/meta.json");
    return "no refusal";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::store);
    EXPECT_THAT(error.what(), HasSubstr("x/meta.json"));
    return error.what();
  }
}

TEST(Meta, IsTheSameAfterWritingAndReading) {
  Meta meta = whole_meta();
  meta.direction = Direction::directed;
  meta.order = NodeOrder::degree;
  meta.source = {{"name", "synth"}, {"generator", {{"seed", 7}}}};
  const Meta again = parse_meta(to_text(meta), "meta.json");
  EXPECT_EQ(to_text(again), to_text(meta));
  EXPECT_EQ(again.nodes, 4);
  EXPECT_EQ(again.edges, 4);
  EXPECT_EQ(again.classes, 2);
  EXPECT_EQ(again.labelled, 3);
  EXPECT_EQ(again.direction, Direction::directed);
  EXPECT_EQ(again.order, NodeOrder::degree);
  EXPECT_EQ(again.split_sizes[0], 1);
  EXPECT_EQ(again.source["generator"]["seed"], 7);
  EXPECT_EQ(again.files.at("labels.i32").bytes, 16);
}

TEST(Meta, RefusesAnotherVersionAndNamesBoth) {
  EXPECT_THAT(refusal_of("/version", 2), HasSubstr("version 2, this program reads 1"));
}

TEST(Meta, RefusesAnotherFormat) {
  EXPECT_THAT(refusal_of("/format", "parquet"), HasSubstr("does not describe a Plimsoll store"));
}

TEST(Meta, RefusesTextThatIsNoJsonObject) {
  for (const std::string text :
       {"", "{", "[]", "null", "12", "{\"format\": \"plimsoll store\"", "\xff\xfe"}) {
    EXPECT_THROW(parse_meta(text, "meta.json"), Error) << text;
  }
}

TEST(Meta, RefusesEveryMissingField) {
  const json whole = json::parse(to_text(whole_meta()));
  for (const auto& [key, value] : whole.items()) {
    json text = whole;
    text.erase(key);
    EXPECT_THROW(parse_meta(text.dump(), "meta.json"), Error) << key;
  }
}

TEST(Meta, NamesAFieldOfTheWrongKindAndItsValue) {
  EXPECT_THAT(refusal_of("/nodes", -4), AllOf(HasSubstr("\"nodes\""), HasSubstr("-4")));
  EXPECT_THAT(refusal_of("/nodes", "four"), AllOf(HasSubstr("\"nodes\""), HasSubstr("four")));
  EXPECT_THAT(refusal_of("/edges", 1.5), AllOf(HasSubstr("\"edges\""), HasSubstr("1.5")));
  EXPECT_THAT(refusal_of("/direction", "sideways"), HasSubstr("sideways"));
  EXPECT_THAT(refusal_of("/features", 3), HasSubstr("\"columns\" is missing"));
  EXPECT_THAT(refusal_of("/features/type", "f64"), HasSubstr("f64"));
  EXPECT_THAT(refusal_of("/splits/train", true), HasSubstr("\"train\""));
}

TEST(Meta, RefusesMoreNodesThanAnIdCanCount) {
  EXPECT_THAT(refusal_of("/nodes", uint64_t{1} << 32), HasSubstr("4294967296"));
}

TEST(Meta, RefusesToCountNothing) {
  EXPECT_THAT(refusal_of("/nodes", 0), HasSubstr("\"nodes\" is 0"));
  EXPECT_THAT(refusal_of("/features/columns", 0), HasSubstr("\"columns\" is 0"));
}

TEST(Meta, RefusesMoreLabelledNodesThanNodes) {
  EXPECT_THAT(refusal_of("/labelled", 5), HasSubstr("\"labelled\" is 5"));
}

TEST(Meta, RefusesRowsTooShortForTheirColumns) {
  EXPECT_THAT(refusal_of("/features/row_bytes", 4), HasSubstr("\"row_bytes\" is too small"));
}

TEST(Meta, KnowsWhatItsRowsAre) {
  Meta meta = whole_meta();
  EXPECT_EQ(meta.input_columns(), meta.feature_columns);
  EXPECT_EQ(json::parse(to_text(meta))["features"].count("first_layer"), 0U);
  meta.first_layer = FirstLayer::gcn;
  EXPECT_EQ(parse_meta(to_text(meta), "meta.json").first_layer, FirstLayer::gcn);
  EXPECT_EQ(meta.input_columns(), meta.feature_columns);
  meta.first_layer = FirstLayer::sage;
  EXPECT_EQ(meta.input_columns(), meta.feature_columns / 2);
  EXPECT_THAT(refusal_of("/features/first_layer", "gat"), HasSubstr("\"gat\""));
}

TEST(Meta, RefusesHalvesOfAnOddNumberOfColumns) {
  EXPECT_THAT(refusal_of("/features/first_layer", "sage"), HasSubstr("odd"));
}

TEST(Meta, RefusesAFileSizeThatContradictsTheShape) {
  EXPECT_THAT(refusal_of("/files/labels.i32/bytes", 20),
              AllOf(HasSubstr("labels.i32"), HasSubstr("20 bytes"), HasSubstr("must have 16")));
}

TEST(Meta, RefusesNestingWithoutEnd) {
  const std::string deep = R"({"format": "plimsoll store", "source": )" +
                           std::string(200'000, '[') + std::string(200'000, ']') + "}";
  expect_error(ErrorKind::store, {"meta.json", "200001 deep", "64 is the most"},
               [&] { parse_meta(deep, "meta.json"); });
}

TEST(PaddedRow, IsAPowerOfTwoUpToASectorAndWholeSectorsBeyond) {
  EXPECT_EQ(padded_row_bytes(FeatureType::f16, 1), 2);
  EXPECT_EQ(padded_row_bytes(FeatureType::f16, 100), 256);
  EXPECT_EQ(padded_row_bytes(FeatureType::f16, 128), 256);
  EXPECT_EQ(padded_row_bytes(FeatureType::f32, 128), 512);
  EXPECT_EQ(padded_row_bytes(FeatureType::f32, 129), 1024);
  EXPECT_EQ(padded_row_bytes(FeatureType::f16, 768), 1536);
}

}  // namespace
}  // namespace plimsoll::graph
