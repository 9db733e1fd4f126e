#include "recipe/recipe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "temp_folder.h"

namespace plimsoll::recipe {
namespace {

using nlohmann::json;

Recipe unusual() {
  return {.model = ModelKind::gat,
          .fanout = {kAllNeighbors, 5, 3},
          .hidden = 64,
          .heads = 4,
          .dropout = 0.25,
          .batch_norm = true,
          .norm = Norm::sampled,
          .batch_size = 7,
          .epochs = 3,
          .lr = 0.003,
          .weight_decay = 5e-4,
          .schedule = Schedule::plateau,
          .label_smoothing = 0.1,
          .patience = 9,
          .evaluation = Evaluation::full,
          .log_steps = 2,
          .seed = std::numeric_limits<uint64_t>::max()};
}

TEST(RecipeWords, AreReadBack) {
  for (const auto kind : {ModelKind::gcn, ModelKind::sage, ModelKind::gat, ModelKind::mlp}) {
    EXPECT_EQ(parse_model(name(kind)), kind);
  }
  for (const auto schedule : {Schedule::constant, Schedule::cosine, Schedule::plateau}) {
    EXPECT_EQ(parse_schedule(name(schedule)), schedule);
  }
  for (const auto norm : {Norm::sampled, Norm::full}) EXPECT_EQ(parse_norm(name(norm)), norm);
  EXPECT_EQ(parse_evaluation("full"), Evaluation::full);
  expect_error(ErrorKind::usage, {"'gnc'", "gcn, sage, gat, mlp"}, [] { parse_model("gnc"); });
}

TEST(Fanout, IsAListOfNumbersOrAll) {
  using Fanout = std::vector<uint32_t>;
  EXPECT_EQ(parse_fanout("15"), Fanout({15}));
  EXPECT_EQ(parse_fanout("15,10"), Fanout({15, 10}));
  EXPECT_EQ(parse_fanout("all,5,-1"), Fanout({kAllNeighbors, 5, kAllNeighbors}));
  for (const char* text : {"", ",", "15,", ",15", "0", "-2", "1.5", "15 10", "x", "papers.plim",
                           "4294967295", "99999999999", "15,all,no"}) {
    EXPECT_EQ(parse_fanout(text), std::nullopt) << text;
  }
  EXPECT_EQ(format_fanout({15, kAllNeighbors}), "15,all");
  EXPECT_EQ(format_fanout({kAllNeighbors}), "all");
}

TEST(Recipe, IsDescribedInOneLine) {
  EXPECT_EQ(describe(Recipe()), "gcn, 2 layers, hidden 256, fan-out 15,10, batch 1024, norm full");
  EXPECT_EQ(describe(unusual()),
            "gat, 3 layers, hidden 64, 4 heads, fan-out all,5,3, batch 7, batch norm");
  EXPECT_EQ(describe({.model = ModelKind::mlp, .fanout = {1}}),
            "mlp, 1 layer, hidden 256, batch 1024");
}

TEST(RecipeJson, IsReadBack) {
  for (const Recipe& recipe : {Recipe(), unusual()}) {
    EXPECT_EQ(from_json(to_json(recipe), "x"), recipe);
    EXPECT_EQ(from_json(json::parse(to_json(recipe).dump()), "x"), recipe);
  }
  EXPECT_EQ(to_json(unusual())["fanout"].dump(), "[-1,5,3]");
  EXPECT_EQ(to_json(unusual())["model"], "gat");
}

TEST(RecipeJson, NamesTheFieldThatIsWrong) {
  const auto refuse = [](const std::string& key, const json& value, const std::string& expected) {
    json recipe = to_json(Recipe());
    recipe[key] = value;
    expect_error(ErrorKind::input, {"last.pth", key, expected},
                 [&] { from_json(recipe, "last.pth"); });
  };
  refuse("model", "cnn", "one of gcn, sage, gat, mlp");
  refuse("model", 3, "one of");
  refuse("hidden", -1, "a whole number");
  refuse("hidden", 1.5, "a whole number");
  refuse("hidden", "256", "a whole number");
  refuse("lr", "fast", "a number");
  refuse("batch_norm", 1, "true or false");
  refuse("fanout", 15, "a list");
  refuse("fanout", json::array({15, -2}), "a list");
  refuse("fanout", json::array({15, std::numeric_limits<uint64_t>::max()}), "a list");
  refuse("fanout", json::array(), "");
  refuse("dropout", 1, "less than 1");
  refuse("unheard_of", 1, "does not know");
  json short_one = to_json(Recipe());
  short_one.erase("seed");
  expect_error(ErrorKind::input, {"last.pth", "seed"}, [&] { from_json(short_one, "last.pth"); });
  expect_error(ErrorKind::input, {"last.pth"}, [] { from_json(json::array(), "last.pth"); });
}

TEST(Recipe, IsReadFromAnyText) {
  EXPECT_EQ(parse(to_json(unusual()).dump(), "recipe"), unusual());
  expect_error(ErrorKind::input, {"recipe", "3000000 deep", "64 is the most"},
               [] { parse(std::string(3'000'000, '['), "recipe"); });
  expect_error(ErrorKind::input, {"recipe", "not JSON"}, [] { parse("{", "recipe"); });
  std::string beyond = to_json(unusual()).dump();
  const std::string seed = "18446744073709551615";
  beyond.replace(beyond.find(seed), seed.size(), "18446744073709551616");
  expect_error(ErrorKind::input, {"recipe", "seed", "a whole number"},
               [&] { parse(beyond, "recipe"); });
}

TEST(RecipeCheck, TakesWhatMakesSense) {
  check(Recipe());
  check(unusual());
  check({.hidden = 7, .heads = 8});  // gcn has no heads to share them
}

TEST(RecipeCheck, RefusesWhatMakesNone) {
  const auto refuse = [](const std::string& option, const std::function<void(Recipe&)>& spoil) {
    Recipe recipe;
    spoil(recipe);
    expect_error(ErrorKind::usage, {option}, [&] { check(recipe); });
  };
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  refuse("--fanout", [](Recipe& recipe) { recipe.fanout.clear(); });
  refuse("--fanout", [](Recipe& recipe) { recipe.fanout = {15, 0}; });
  refuse("--fanout", [](Recipe& recipe) { recipe.fanout.assign(65, 2); });
  refuse("--hidden", [](Recipe& recipe) { recipe.hidden = 0; });
  refuse("--heads", [](Recipe& recipe) { recipe.heads = 0; });
  refuse("--heads 7", [](Recipe& recipe) {
    recipe.model = ModelKind::gat;
    recipe.heads = 7;
  });
  for (const double share : {-0.1, 1.0, nan}) {
    refuse("--dropout", [&](Recipe& recipe) { recipe.dropout = share; });
    refuse("--label-smoothing", [&](Recipe& recipe) { recipe.label_smoothing = share; });
  }
  for (const double lr : {0.0, -1.0, nan, infinity}) {
    refuse("--lr", [&](Recipe& recipe) { recipe.lr = lr; });
  }
  refuse("--weight-decay", [](Recipe& recipe) { recipe.weight_decay = -1; });
  refuse("--epochs", [](Recipe& recipe) { recipe.epochs = 0; });
  refuse("--batch-size", [](Recipe& recipe) { recipe.batch_size = 0; });
  refuse("--log-steps", [](Recipe& recipe) { recipe.log_steps = 0; });
}

TEST(Resume, UsesTheStoredRecipe) {
  EXPECT_EQ(resume(unusual(), Recipe(), {}), unusual());
  EXPECT_EQ(
      resume(unusual(), unusual(),
             {RecipeField::model, RecipeField::fanout, RecipeField::seed, RecipeField::batch_norm}),
      unusual());
}

TEST(Resume, LetsTheLengthAndTheEvaluationChange) {
  Recipe given;
  given.epochs = 50;
  given.patience = 4;
  given.log_steps = 5;
  given.evaluation = Evaluation::sampled;
  given.hidden = 999;  // a default, not given
  Recipe expected = unusual();
  expected.epochs = 50;
  expected.patience = 4;
  expected.log_steps = 5;
  expected.evaluation = Evaluation::sampled;
  EXPECT_EQ(resume(unusual(), given,
                   {RecipeField::epochs, RecipeField::patience, RecipeField::log_steps,
                    RecipeField::evaluation}),
            expected);
  expected.evaluation = Evaluation::full;
  EXPECT_EQ(resume(unusual(), given,
                   {RecipeField::epochs, RecipeField::patience, RecipeField::log_steps}),
            expected);
}

TEST(Resume, RefusesAnotherRecipeWithBothValues) {
  Recipe given;
  given.hidden = 128;
  expect_error(ErrorKind::usage,
               {"--hidden 128 was given, the checkpoint has 256; leave it out, or start a new run"},
               [&] { resume(Recipe(), given, {RecipeField::hidden}); });
  given.fanout = {5, kAllNeighbors};
  expect_error(ErrorKind::usage, {"--fanout 5,all was given, the checkpoint has 15,10"},
               [&] { resume(Recipe(), given, {RecipeField::fanout}); });
  given.weight_decay = 0.5;
  expect_error(ErrorKind::usage, {"--weight-decay 0.5 was given"},
               [&] { resume(Recipe(), given, {RecipeField::weight_decay}); });
  given.model = ModelKind::sage;
  expect_error(ErrorKind::usage, {"--model sage was given, the checkpoint has gcn"},
               [&] { resume(Recipe(), given, {RecipeField::model}); });
}

}  // namespace
}  // namespace plimsoll::recipe
