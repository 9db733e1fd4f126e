#include "launch/seed_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "formats/data_root.h"
#include "graph/store.h"
#include "launch/own_program.h"
#include "launch/save_folder.h"
#include "launch/training_record.h"
#include "launch/training_run.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;

// Options that each training gets anew, all with a value.
constexpr std::array kOwnOptions = {"--seeds", "--seed", "--save-dir", "--save_dir", "--resume"};

// The command line without the options above.
std::vector<std::string> shared_words() {
  std::vector<std::string> words;
  bool skip_value = false;
  for (const std::string& word : own_words()) {
    if (skip_value) {
      skip_value = false;
      continue;
    }
    const std::string option = word.substr(0, word.find('='));
    const bool own =
        std::ranges::any_of(kOwnOptions, [&](const char* one) { return option == one; });
    if (own) {
      skip_value = option.size() == word.size();
    } else {
      words.push_back(word);
    }
  }
  return words;
}

std::set<fs::path> seed_folders(const TrainRequest& request, uint64_t count) {
  std::set<fs::path> folders;
  for (uint64_t i = 0; i < count; ++i) {
    folders.insert(seed_folder(request.save_dir, request.recipe.seed + i));
  }
  return folders;
}

// Runs of other seeds would be counted with the new ones.
void remove_other_seeds(const TrainRequest& request, uint64_t count) {
  std::set<fs::path> trained_now = seed_folders(request, count);
  trained_now.insert(request.save_dir);
  for (const fs::path& folder : training_folders(request.save_dir)) {
    if (!trained_now.contains(folder)) fs::remove_all(folder);
  }
}

std::string command_for_all(const TrainRequest& request, uint64_t count) {
  std::string text = "plimsoll";
  const std::vector<std::string> words = shared_words();
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "--force") text += " " + shell_word(words[i]);
  }
  return fmt::format("{} --seeds {} --seed {} --resume {}", text, count, request.recipe.seed,
                     shell_word(request.save_dir.string()));
}

void train_seed(const TrainRequest& request, uint64_t count, uint64_t seed) {
  const fs::path folder = seed_folder(request.save_dir, seed);
  std::vector<std::string> words = shared_words();
  const bool begun = !request.resume.empty() && holds_a_run(folder);
  words.insert(words.end(), {"--seed", fmt::format("{}", seed), begun ? "--resume" : "--save-dir",
                             folder.string()});
  const int code = run_own_program(words);
  if (code == 0) return;
  print_to(stderr, "seed {} ended with exit code {}", seed, code);
  if (holds_a_run(folder) && code != exit_code(ErrorKind::usage)) {
    print_to(stderr, "; continue all seeds with:\n  {}", command_for_all(request, count));
  }
  print_to(stderr, "\n");
  throw ExitWith{code};
}

// The store of --data_root, or nothing if the first seed imports it.
fs::path store_of(const TrainRequest& request) {
  if (request.data_root.empty()) return request.store;
  const formats::DataRoot found = formats::resolve_data_root(request.data_root);
  return found.import_from.empty() ? found.store : fs::path();
}

// What a new seed would be, as far as its recipe and data.
TrainingRecord wanted_training(const TrainRequest& request) {
  TrainingRecord wanted;
  wanted.recipe = request.recipe;
  if (const fs::path folder = store_of(request); !folder.empty()) {
    const graph::Store store = formats::open_store(folder);
    wanted.dataset = graph::dataset_name(store);
    wanted.store_checksum = graph::store_checksum(store);
  }
  return wanted;
}

// The recipe of a seed after it is continued with what the user gave.
recipe::Recipe continued_recipe(const TrainingRecord& known, const TrainRequest& request) {
  recipe::RecipeFields given = request.given;
  given.erase(recipe::RecipeField::seed);  // it is the first of all seeds
  try {
    return recipe::resume(known.recipe, request.recipe, given);
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", known.folder.string(), error.what());
  }
}

}  // namespace

void check_same_training(const TrainRequest& request, uint64_t count) {
  if (request.force) return;  // the others are deleted
  const std::set<fs::path> asked = seed_folders(request, count);
  const auto begun = [](const fs::path& folder) { return holds_a_run(folder); };
  if (!request.resume.empty() && std::ranges::all_of(asked, begun)) return;  // none is new
  const std::vector<fs::path> folders = training_folders(request.save_dir);
  if (folders.empty()) return;
  const TrainingRecord wanted = wanted_training(request);
  for (const fs::path& folder : folders) {
    auto known = find_training(folder);
    if (!known) continue;
    if (asked.contains(folder)) known->recipe = continued_recipe(*known, request);
    if (wanted.dataset.empty()) known->dataset = known->store_checksum = "";
    const auto differences = differences_between(*known, wanted);
    if (differences.empty()) continue;
    fail(ErrorKind::exists,
         "{} is of another training: {}. All seeds of a folder count in one mean; give the same "
         "options, choose another --save-dir, or replace them with --force",
         folder.string(), describe(differences));
  }
}

void train_seeds(const TrainRequest& request, uint64_t count) {
  store_of(request);  // refuses a --data-root without a data set before a seed starts
  for (uint64_t i = 0; i < count && request.resume.empty(); ++i) {
    check_new_run(seed_folder(request.save_dir, request.recipe.seed + i), request.force);
  }
  if (holds_a_run(request.save_dir)) {
    if (!request.force) {
      fail(ErrorKind::exists,
           "{} holds a single training; replace it with --force, or choose another --save-dir for "
           "--seeds",
           request.save_dir.string());
    }
    SaveFolder(request.save_dir).clear();
  }
  check_same_training(request, count);
  if (request.force) remove_other_seeds(request, count);
  ::setenv(kOfSeeds, "1", /*overwrite=*/1);
  for (uint64_t i = 0; i < count; ++i) {
    throw_if_interrupted();
    const uint64_t seed = request.recipe.seed + i;
    if (!request.running.run.quiet) {
      print("seed {} ({} of {}): {}\n", seed, i + 1, count,
            seed_folder(request.save_dir, seed).string());
    }
    train_seed(request, count, seed);
  }
}

}  // namespace plimsoll::launch
