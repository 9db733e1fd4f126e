// A recipe: everything that decides what a training learns. Two runs of one recipe on one store
// give the same model; where and how fast they run (device, threads, folders) is not part of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::recipe {

enum class ModelKind { gcn, sage, gat, mlp };
enum class Norm { sampled, full };        // whose degrees GCN divides by: the block's, the graph's
enum class Draw { uniform, labor };       // how neighbours are drawn: see sample/sampler.h
enum class Evaluation { sampled, full };  // same fan-out, or all neighbours layer by layer
enum class Schedule { constant, cosine, plateau };

std::string_view name(ModelKind kind);
std::string_view name(Norm norm);
std::string_view name(Draw draw);
std::string_view name(Evaluation evaluation);
std::string_view name(Schedule schedule);

constexpr uint32_t kAllNeighbors = UINT32_MAX;  // a fan-out

struct Recipe {
  ModelKind model = ModelKind::gcn;
  std::vector<uint32_t> fanout = {15, 10};  // one layer each; the seeds' neighbours first
  uint64_t hidden = 256;                    // columns between layers; for gat, all heads together
  uint64_t heads = 8;                       // of every gat layer but the last, which has one
  double dropout = 0.5;                     // before every layer but the first
  bool batch_norm = false;                  // after every layer but the last
  Norm norm = Norm::full;                   // gcn only
  Draw sampler = Draw::uniform;
  uint64_t reuse_epochs = 1;  // epochs in a row that see the same drawn batches

  uint64_t batch_size = 1024;
  uint64_t epochs = 100;
  double lr = 0.01;
  double weight_decay = 0;  // as Adam's: added to the gradient
  Schedule schedule = Schedule::constant;
  double label_smoothing = 0;
  uint64_t patience = 0;  // evaluations without a better one before the run ends; 0 = all epochs
  Evaluation evaluation = Evaluation::sampled;
  uint64_t log_steps = 1;  // epochs from one evaluation to the next
  uint64_t seed = 0;

  bool operator==(const Recipe&) const = default;
};

// The words of the command line, and back. Throw Error{usage} that names the word and the choices.
ModelKind parse_model(std::string_view word);
Norm parse_norm(std::string_view word);
Draw parse_draw(std::string_view word);
Evaluation parse_evaluation(std::string_view word);
Schedule parse_schedule(std::string_view word);

// "15", "15,10", "-1", "all,5"; nothing where the word is no fan-out.
std::optional<std::vector<uint32_t>> parse_fanout(std::string_view word);
std::string format_fanout(const std::vector<uint32_t>& fanout);  // "15,10", "all"

// "gcn, 2 layers, hidden 256, fan-out 15,10, batch 1024, norm full"
std::string describe(const Recipe& recipe);

// Throws Error{usage} where the values make no sense, alone or together.
void check(const Recipe& recipe);

// One key for every field, named as the field; a fan-out of all neighbours is -1, as PyG has it.
nlohmann::ordered_json to_json(const Recipe& recipe);
// Fan-outs alone, in that form.
nlohmann::ordered_json to_json(const std::vector<uint32_t>& fanout);

// Throws Error{input} naming `where` and the field; the json may be anything. What older versions
// did not write has its default.
Recipe from_json(const nlohmann::json& json, std::string_view where);
// The same from a text, which may be anything.
Recipe parse(std::string_view text, std::string_view where);

// The recipe of a run that goes on: the stored one. A field whose name is among `given_names` must
// have the stored value, else Error{usage} with both; but how long to train and how to evaluate
// (epochs, patience, log_steps, evaluation) may be given anew.
Recipe resume(const Recipe& stored, const Recipe& given, const std::set<std::string>& given_names);

}  // namespace plimsoll::recipe
