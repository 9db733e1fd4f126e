#include "cli/train_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/help.h"
#include "temp_folder.h"

namespace plimsoll::cli {
namespace {

using Words = std::vector<std::string>;
using Fanout = std::vector<uint32_t>;
using Field = recipe::RecipeField;

// One command line, parsed and completed.
class Parsed {
 public:
  explicit Parsed(Words words) {
    set_help(app_);
    train_ = app_.add_subcommand("train", "Train");
    add_train_options(*train_, options);
    train_->callback([this] { complete(*train_, options); });
    words.emplace(words.begin(), "train");
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      said = explain_parse_error(app_, error);
    } catch (const Error& error) {
      EXPECT_EQ(name(error.kind()), "usage");
      said = error.what();
    }
  }

  std::string continuing() const { return launch::continuing_command(options); }
  std::string training(const std::string& memory) const {
    return train_command_line(*train_, options, memory);
  }
  std::string help() const { return train_->help(); }
  std::string bash_completion() const { return completion_script(app_, Shell::bash); }

  TrainOptions options;
  std::string said;  // empty where all is well

 private:
  CLI::App app_{"Test", "plimsoll"};
  CLI::App* train_ = nullptr;
};

void expect_refused(const Words& words, const std::string& part) {
  const Parsed parsed(words);
  EXPECT_NE(parsed.said.find(part), std::string::npos) << "said: " << parsed.said;
}

TEST(TrainOptions, HaveTheDefaultsOfTheScript) {
  const Parsed parsed({"papers.plim"});
  EXPECT_EQ(parsed.said, "");
  EXPECT_EQ(parsed.options.store, "papers.plim");
  EXPECT_EQ(parsed.options.recipe, recipe::Recipe());
  EXPECT_EQ(parsed.options.recipe.batch_size, 1024);
  EXPECT_EQ(parsed.options.recipe.fanout, Fanout({15, 10}));
  EXPECT_EQ(parsed.options.recipe.hidden, 256);
  EXPECT_EQ(parsed.options.recipe.dropout, 0.5);
  EXPECT_EQ(parsed.options.recipe.lr, 0.01);
  EXPECT_EQ(parsed.options.recipe.epochs, 100);
  EXPECT_EQ(parsed.options.save_dir, "models");
  EXPECT_TRUE(parsed.options.given.empty());
}

TEST(TrainOptions, UnderstandTheSpellingsOfTheScript) {
  const Parsed ours({"--data-root", "d", "--hidden", "64", "--weight-decay", "0.1", "--batch-size",
                     "32", "--fanout", "5,3", "--workers", "2", "--log-steps", "4", "--save-dir",
                     "s"});
  const Parsed theirs({"--data_root", "d", "--hidden_dim", "64", "--weight_decay", "0.1",
                       "--batch_size", "32", "--num_neighbors", "5", "3", "--num_workers", "2",
                       "--log_steps", "4", "--save_dir", "s"});
  for (const Parsed* parsed : {&ours, &theirs}) {
    EXPECT_EQ(parsed->said, "");
    const TrainOptions& options = parsed->options;
    EXPECT_EQ(options.data_root, "d");
    EXPECT_EQ(options.recipe.hidden, 64);
    EXPECT_EQ(options.recipe.weight_decay, 0.1);
    EXPECT_EQ(options.recipe.batch_size, 32);
    EXPECT_EQ(options.recipe.fanout, Fanout({5, 3}));
    EXPECT_EQ(options.running.run.workers, 2);
    EXPECT_EQ(options.recipe.log_steps, 4);
    EXPECT_EQ(options.save_dir, "s");
    EXPECT_EQ(options.given,
              (recipe::RecipeFields{Field::hidden, Field::weight_decay, Field::batch_size,
                                    Field::fanout, Field::log_steps}));
  }
}

TEST(TrainOptions, ReadEveryModelAndSchedule) {
  const Parsed parsed({"x", "--model", "gat", "--heads", "4", "--schedule", "cosine", "--eval",
                       "full", "--batch-norm", "--label-smoothing", "0.1", "--seed",
                       "18446744073709551615", "--device", "cuda", "--patience", "3"});
  EXPECT_EQ(parsed.said, "");
  const recipe::Recipe& recipe = parsed.options.recipe;
  EXPECT_EQ(recipe.model, recipe::ModelKind::gat);
  EXPECT_EQ(recipe.heads, 4);
  EXPECT_EQ(recipe.schedule, recipe::Schedule::cosine);
  EXPECT_EQ(recipe.evaluation, recipe::Evaluation::full);
  EXPECT_TRUE(recipe.batch_norm);
  EXPECT_EQ(recipe.label_smoothing, 0.1);
  EXPECT_EQ(recipe.seed, ~uint64_t{0});
  EXPECT_EQ(recipe.patience, 3);
  EXPECT_EQ(parsed.options.running.run.device, train::DeviceKind::cuda);
  EXPECT_EQ(Parsed({"x", "--norm", "sampled"}).options.recipe.norm, recipe::Norm::sampled);
}

TEST(Fanout, MayBeOneWordOrSeveralAndStandAnywhere) {
  const uint32_t all = recipe::kAllNeighbors;
  const std::vector<std::pair<Words, Fanout>> cases = {
      {{"x", "--fanout", "15,10"}, {15, 10}},
      {{"x", "--fanout=15,10,5"}, {15, 10, 5}},
      {{"x", "--fanout", "15", "--fanout", "10"}, {15, 10}},
      {{"x", "--fanout", "-1"}, {all}},
      {{"x", "--num_neighbors", "-1", "5", "all"}, {all, 5, all}},
      {{"--num_neighbors", "15", "10", "x"}, {15, 10}},
      {{"--fanout", "15,10", "x"}, {15, 10}},
      {{"--fanout=15,10", "x"}, {15, 10}},
      {{"--num_neighbors", "15", "10", "--epochs", "3", "x"}, {15, 10}},
  };
  for (const auto& [words, fanout] : cases) {
    const Parsed parsed(words);
    EXPECT_EQ(parsed.said, "");
    EXPECT_EQ(parsed.options.recipe.fanout, fanout);
    EXPECT_EQ(parsed.options.store, "x");
  }
}

TEST(Fanout, IsRefusedWhereItIsNone) {
  expect_refused({"x", "--fanout", "15,ten"}, "--fanout: '15,ten' is not a fan-out");
  expect_refused({"--fanout", "x"}, "'x' is not a fan-out");
  expect_refused({"x", "--fanout", "15", "1o"}, "'1o' is not a fan-out");
  expect_refused({"--data_root", "d", "--fanout", "15", "x"}, "'x' is not a fan-out");
  expect_refused({"--fanout", "15", "x", "10"}, "'x' is not a fan-out");
  expect_refused({"x", "--fanout", "0"}, "'0' is not a fan-out");
  expect_refused({"x", "--fanout"}, "--fanout needs a value");
  expect_refused({"x", "--early-stopping"}, "needs a value (also called --early-stopping)");
  expect_refused({"x", "--early-stopping", "--epochs", "3"}, "--epochs follows it");
}

TEST(TrainOptions, RefuseValuesOutOfRange) {
  expect_refused({"x", "--model", "gnc"}, "--model cannot be 'gnc'; did you mean gcn?");
  expect_refused({"x", "--model", "GIN"}, "choose from gcn, sage, gat, mlp, or train your own");
  expect_refused({"x", "--hidden", "0"}, "--hidden: '0' is not a whole number from 1 to 65536");
  expect_refused({"x", "--epochs", "-1"}, "--epochs: '-1' is not a whole number");
  expect_refused({"x", "--lr", "fast"}, "--lr cannot be 'fast'; write a number");
  expect_refused({"x", "--lr", "0"}, "--lr 0: it must be more than 0");
  expect_refused({"x", "--dropout", "1"}, "--dropout 1: it must be from 0 to less than 1");
  expect_refused({"x", "--checkpoint-minutes", "0"}, "--checkpoint-minutes 0: more than 0");
  expect_refused({"x", "--hiden_dim", "3"}, "did you mean --hidden_dim?");
  expect_refused({"x", "y"}, "unexpected argument 'y'");
}

TEST(TrainOptions, RefuseWhatTheModelHasNotGot) {
  expect_refused({"x", "--model", "sage", "--norm", "full"}, "--norm needs --model gcn");
  expect_refused({"x", "--heads", "2"}, "--heads needs --model gat");
  expect_refused({"x", "--model", "gat", "--heads", "7"}, "--heads 7");
}

TEST(TrainOptions, WantOneSourceOfData) {
  expect_refused({}, "STORE is missing");
  expect_refused({"x", "--data_root", "d"}, "either the store x or --data_root d");
}

TEST(ResumeOption, GoesOnInItsFolder) {
  const Parsed parsed({"x", "--resume", "m", "--epochs", "200"});
  EXPECT_EQ(parsed.said, "");
  EXPECT_EQ(parsed.options.save_dir, "m");
  EXPECT_EQ(parsed.options.given, recipe::RecipeFields{Field::epochs});
  EXPECT_EQ(Parsed({"x", "--resume", "m", "--save-dir", "m"}).said, "");
  expect_refused({"x", "--resume", "m", "--save_dir", "n"}, "leave --save-dir n out");
  expect_refused({"x", "--resume", "m", "--force"}, "give one of them");
}

TEST(ResumeOption, StartsOrContinuesByItself) {
  const TempFolder temp;
  const std::string folder = (temp.path() / "models").string();
  const Parsed fresh({"x", "--resume", "auto", "--save-dir", folder, "--epochs", "7"});
  EXPECT_EQ(fresh.said, "");
  EXPECT_EQ(fresh.options.resume, "");
  EXPECT_EQ(fresh.options.save_dir, folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/last.pth") << "x";
  const Parsed again({"x", "--resume", "auto", "--save-dir", folder, "--epochs", "7"});
  EXPECT_EQ(again.said, "");
  EXPECT_EQ(again.options.resume, folder);
  expect_refused({"x", "--resume", "auto", "--force"}, "give one of them");
  expect_refused({"--resume", "auto"}, "STORE is missing; name the folder");
}

TEST(ContinuingCommand, RepeatsWhatTheCheckpointDoesNotKeep) {
  EXPECT_EQ(Parsed({"x", "--epochs", "3"}).continuing(), "plimsoll train x --resume models");
  EXPECT_EQ(Parsed({"my store", "--save-dir", "it's", "--memory", "8G", "--num_workers", "2",
                    "--device", "cpu", "--hidden", "8", "-q"})
                .continuing(),
            "plimsoll train 'my store' --resume 'it'\\''s' --device cpu --workers 2 --memory 8G "
            "--quiet");
}

TEST(TrainingCommand, RepeatsWhatWasGivenAndNothingElse) {
  EXPECT_EQ(Parsed({"x"}).training(""), "plimsoll train x");
  EXPECT_EQ(
      Parsed({"--num_neighbors", "15", "all", "my store", "--lr", "1e-3", "--batch-norm",
              "--num_workers", "2", "--threads", "3", "--batch_size", "64", "--save-dir", "s"})
          .training("8G"),
      "plimsoll train 'my store' --fanout 15,all --batch-norm --batch-size 64 --lr 1e-3 "
      "--threads 3 --workers 2 --memory 8G");
}

TEST(TrainOptions, UnderstandTheNamesOfOtherScripts) {
  const Parsed parsed(
      {"x",   "--model",           "GCN", "--device",        "cuda:0", "--num_layers",
       "2",   "--hidden_channels", "64",  "--learning-rate", "0.1",    "--num-epochs",
       "7",   "--early-stopping",  "5",   "--num-neighbors", "5,3",    "--label_smoothing",
       "0.1", "--save_every",      "2",   "--batch_norm"});
  EXPECT_EQ(parsed.said, "");
  EXPECT_EQ(parsed.options.recipe.model, recipe::ModelKind::gcn);
  EXPECT_EQ(parsed.options.running.run.device, train::DeviceKind::cuda);
  EXPECT_EQ(parsed.options.running.gpu, 0);
  EXPECT_EQ(Parsed({"x", "--device", "gpu"}).options.running.run.device, train::DeviceKind::cuda);
  EXPECT_EQ(parsed.options.recipe.hidden, 64);
  EXPECT_EQ(parsed.options.recipe.lr, 0.1);
  EXPECT_EQ(parsed.options.recipe.epochs, 7);
  EXPECT_EQ(parsed.options.recipe.patience, 5);
  EXPECT_EQ(parsed.options.recipe.fanout, Fanout({5, 3}));
  EXPECT_EQ(parsed.options.save_every, 2);
  EXPECT_TRUE(parsed.options.recipe.batch_norm);
  EXPECT_EQ(Parsed({"x", "--model", "GraphSAGE"}).options.recipe.model, recipe::ModelKind::sage);
  EXPECT_EQ(Parsed({"x", "--model", "GAT", "--num_heads", "2"}).options.recipe.heads, 2);
  // Their names are not shown.
  EXPECT_EQ(parsed.help().find("channels"), std::string::npos);
  EXPECT_EQ(parsed.help().find("num-layers"), std::string::npos);
}

TEST(TrainOptions, AnswerWhatMeansSomethingElseWithAHint) {
  expect_refused({"x", "--num_layers", "3"}, "2 in 15,10; give --fanout 15,10,10");
  expect_refused({"x", "--num-layers", "1"}, "give --fanout 15");
  expect_refused({"x", "--num_layers", "2", "--resume", "m"}, "keeps its layers");
  expect_refused({"x", "--device", "cuda:x"}, "give cuda:N");
  expect_refused({"x", "--lr_decay", "0.9"}, "--schedule cosine or --schedule plateau");
  expect_refused({"x", "--gpu=1"}, "unknown option --gpu; give --device cuda");
  expect_refused({"x", "--num_runs", "5"}, "--seeds N trains N times");
  expect_refused({"x", "--log", "tensorbord"}, "'tensorbord' is not a log");
}

TEST(TrainOptions, RepeatTheLogsOfARun) {
  const Parsed parsed({"x", "--log", "csv,tensorboard"});
  EXPECT_EQ(parsed.options.logs,
            (track::LogKinds{track::LogKind::csv, track::LogKind::tensorboard}));
  EXPECT_EQ(parsed.continuing(), "plimsoll train x --resume models --log csv,tensorboard");
}

// What plan --fastest changes before it prints the command.
TEST(TrainingCommand, HasTheSettingsThatWereChosen) {
  Parsed parsed({"x", "--hidden", "64"});
  parsed.options.recipe.batch_size = 2048;
  parsed.options.given.insert(Field::batch_size);
  parsed.options.running.run.workers = 5;
  EXPECT_EQ(parsed.training("auto"),
            "plimsoll train x --hidden 64 --batch-size 2048 --workers 5 --memory auto");
}

TEST(MemoryOption, IsASizeOrAuto) {
  EXPECT_EQ(Parsed({"x"}).options.running.memory_bytes, std::nullopt);
  EXPECT_EQ(Parsed({"x", "--memory", "auto"}).options.running.memory_bytes, std::nullopt);
  EXPECT_EQ(Parsed({"x", "--memory", "512M"}).options.running.memory_bytes, 512U << 20);
  expect_refused({"x", "--memory", "lots"}, "'lots' is not a size");
  expect_refused({"x", "--memory", "8G,16G"}, "'8G,16G' is not a size");
  expect_refused({"x", "--memory", ""}, "is not a size");
}

TEST(TrainHelp, ShowsOurNamesOnly) {
  const Parsed parsed({"x"});
  for (const std::string& text : {parsed.help(), parsed.bash_completion()}) {
    EXPECT_NE(text.find("--batch-size"), std::string::npos);
    EXPECT_NE(text.find("--fanout"), std::string::npos);
    EXPECT_EQ(text.find("--batch_size"), std::string::npos);
    EXPECT_EQ(text.find("--num_neighbors"), std::string::npos);
  }
}

}  // namespace
}  // namespace plimsoll::cli
