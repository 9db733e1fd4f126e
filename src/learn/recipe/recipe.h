// A recipe holds every setting that decides what a training run learns. Two runs with the same
// recipe on the same store give the same model. Where and how fast they run (device, threads,
// folders) is not part of it. Also here: the random keys that its seed gives.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace plimsoll::recipe {

enum class ModelKind { gcn, sage, gat, mlp };
enum class Norm { sampled, full };        // which degrees GCN divides by: sampled, or of the graph
enum class Draw { uniform, labor };       // how neighbours are sampled: see sample/sampler.h
enum class Evaluation { sampled, full };  // with the fan-out, or all neighbours layer by layer
enum class Schedule { constant, cosine, plateau };

std::string_view name(ModelKind kind);
std::string_view name(Norm norm);
std::string_view name(Draw draw);
std::string_view name(Evaluation evaluation);
std::string_view name(Schedule schedule);

constexpr uint32_t kAllNeighbors = UINT32_MAX;  // the fan-out "all"

struct Recipe {
  ModelKind model = ModelKind::gcn;
  std::vector<uint32_t> fanout = {15, 10};  // one entry per layer; the seeds' neighbours first
  uint64_t hidden = 256;    // columns between layers; for gat, of all heads together
  uint64_t heads = 8;       // of every gat layer except the last, which has one
  double dropout = 0.5;     // before every layer except the first
  bool batch_norm = false;  // after every layer except the last
  Norm norm = Norm::full;   // gcn only
  Draw sampler = Draw::uniform;

  uint64_t batch_size = 1024;
  uint64_t epochs = 100;
  double lr = 0.01;
  double weight_decay = 0;  // as in Adam, not AdamW: added to the gradient
  Schedule schedule = Schedule::constant;
  double label_smoothing = 0;
  uint64_t patience = 0;  // end after so many evaluations without improvement; 0 = never
  Evaluation evaluation = Evaluation::sampled;
  uint64_t log_steps = 1;  // epochs between two evaluations
  uint64_t seed = 0;

  bool operator==(const Recipe&) const = default;
};

// A Recipe's fields, in its order.
enum class RecipeField {
  model,
  fanout,
  hidden,
  heads,
  dropout,
  batch_norm,
  norm,
  sampler,
  batch_size,
  epochs,
  lr,
  weight_decay,
  schedule,
  label_smoothing,
  patience,
  evaluation,
  log_steps,
  seed,
};
using RecipeFields = std::set<RecipeField>;

// Parse the words of the command line. Throw Error{usage} that names the word and the choices.
ModelKind parse_model(std::string_view word);
Norm parse_norm(std::string_view word);
Draw parse_draw(std::string_view word);
Evaluation parse_evaluation(std::string_view word);
Schedule parse_schedule(std::string_view word);

// "15", "15,10", "-1", "all,5"; empty if the word is not a fan-out.
std::optional<std::vector<uint32_t>> parse_fanout(std::string_view word);
std::string format_fanout(const std::vector<uint32_t>& fanout);  // "15,10", "all"

// "gcn, 2 layers, hidden 256, fan-out 15,10, batch 1024, norm full"
std::string describe(const Recipe& recipe);

// Throws Error{usage} if a value is invalid, alone or together with the others.
void check(const Recipe& recipe);

// One key per field, with the field's name. A fan-out of all neighbours is -1, as in PyG.
nlohmann::ordered_json to_json(const Recipe& recipe);
// The fan-outs only.
nlohmann::ordered_json to_json(const std::vector<uint32_t>& fanout);

// Accepts any json; throws Error{input} that names `where` and the invalid field. Fields that older
// versions did not write get their default.
Recipe from_json(const nlohmann::json& json, std::string_view where);
// The same from any text.
Recipe parse(std::string_view text, std::string_view where);

// The recipe of a resumed run: the stored one. `fields` are those given on the command line.
// epochs, patience, log_steps and evaluation may change; any other given field must have the stored
// value, else throws Error{usage} with both values.
Recipe resume(const Recipe& stored, const Recipe& given, const RecipeFields& fields);

// The random keys of a training: one for each purpose and epoch, all from the recipe's seed. The
// same seed and epoch give the same batches in every program.
enum class Purpose : uint64_t { shuffle = 1, draws = 2, dropout = 3, parameters = 4 };

constexpr uint64_t epoch_key(uint64_t seed, Purpose purpose, uint64_t epoch) {
  return RandomStream(seed, static_cast<uint64_t>(purpose)).at(epoch);
}

}  // namespace plimsoll::recipe
