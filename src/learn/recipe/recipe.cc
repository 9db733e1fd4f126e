#include "recipe/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

#include "base/json.h"

namespace plimsoll::recipe {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Fanout = std::vector<uint32_t>;

constexpr double kHighest = 1e38;  // fits into single precision
constexpr size_t kMostLayers = 64;

// Each in the order of its enum.
constexpr std::array<std::string_view, 4> kModels = {"gcn", "sage", "gat", "mlp"};
constexpr std::array<std::string_view, 2> kNorms = {"sampled", "full"};
constexpr std::array<std::string_view, 2> kDraws = {"uniform", "labor"};
constexpr std::array<std::string_view, 2> kEvaluations = {"sampled", "full"};
constexpr std::array<std::string_view, 3> kSchedules = {"constant", "cosine", "plateau"};

std::span<const std::string_view> names_of(ModelKind /*kind*/) { return kModels; }
std::span<const std::string_view> names_of(Norm /*norm*/) { return kNorms; }
std::span<const std::string_view> names_of(Draw /*draw*/) { return kDraws; }
std::span<const std::string_view> names_of(Evaluation /*evaluation*/) { return kEvaluations; }
std::span<const std::string_view> names_of(Schedule /*schedule*/) { return kSchedules; }

template <typename Enum>
Enum parse(std::string_view what, std::string_view word) {
  const auto names = names_of(Enum());
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    fail(ErrorKind::usage, "there is no {} '{}'; choose from {}", what, word,
         fmt::join(names, ", "));
  }
  return static_cast<Enum>(found - names.begin());
}

// A value of the recipe as JSON.
template <typename T>
ordered_json write(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return name(value);
  } else if constexpr (std::is_same_v<T, Fanout>) {
    return to_json(value);
  } else {
    return value;
  }
}

// The reverse. Returns a description of the expected value if this is not one, else empty.
std::string read(const json& value, bool& out) {
  if (!value.is_boolean()) return "true or false";
  out = value.get<bool>();
  return {};
}

std::string read(const json& value, double& out) {
  if (!value.is_number()) return "a number";
  out = value.get<double>();
  return {};
}

std::string read(const json& value, uint64_t& out) {
  // The parser makes every non-negative number unsigned; code may not.
  const bool negative =
      !value.is_number_unsigned() && value.is_number_integer() && value.get<int64_t>() < 0;
  if (!value.is_number_integer() || negative) return "a whole number";
  out = value.get<uint64_t>();
  return {};
}

std::string read(const json& value, Fanout& out) {
  const char* expected = "a list of whole numbers, -1 for all neighbours";
  if (!value.is_array()) return expected;
  out.clear();
  for (const json& element : value) {
    // Compared as text, because nlohmann treats 2^64 - 1 and -1 as equal.
    uint64_t number = kAllNeighbors;
    if (element.dump() != "-1" && (!read(element, number).empty() || number >= kAllNeighbors)) {
      return expected;
    }
    out.push_back(static_cast<uint32_t>(number));
  }
  return {};
}

template <typename Enum>
requires std::is_enum_v<Enum> std::string read(const json& value, Enum& out) {
  const auto names = names_of(Enum());
  const auto found = value.is_string()
                         ? std::find(names.begin(), names.end(), value.get<std::string>())
                         : names.end();
  if (found == names.end()) return fmt::format("one of {}", fmt::join(names, ", "));
  out = static_cast<Enum>(found - names.begin());
  return {};
}

// One field of the recipe, as the functions of this file use it.
struct Field {
  RecipeField id;
  const char* name;
  bool may_change;  // when a run is resumed
  bool is_new;      // older versions did not write it
  ordered_json (*get)(const Recipe&);
  std::string (*set)(Recipe&, const json&);
  void (*copy)(Recipe& to, const Recipe& from);
};

template <auto Member>
constexpr Field field(RecipeField id, const char* name, bool may_change = false,
                      bool is_new = false) {
  return {id,
          name,
          may_change,
          is_new,
          [](const Recipe& recipe) { return write(recipe.*Member); },
          [](Recipe& recipe, const json& value) { return read(value, recipe.*Member); },
          [](Recipe& to, const Recipe& from) { to.*Member = from.*Member; }};
}

constexpr std::array kFields = {
    field<&Recipe::model>(RecipeField::model, "model"),
    field<&Recipe::fanout>(RecipeField::fanout, "fanout"),
    field<&Recipe::hidden>(RecipeField::hidden, "hidden"),
    field<&Recipe::heads>(RecipeField::heads, "heads"),
    field<&Recipe::dropout>(RecipeField::dropout, "dropout"),
    field<&Recipe::batch_norm>(RecipeField::batch_norm, "batch_norm"),
    field<&Recipe::norm>(RecipeField::norm, "norm"),
    field<&Recipe::sampler>(RecipeField::sampler, "sampler", /*may_change=*/false, /*is_new=*/true),
    field<&Recipe::batch_size>(RecipeField::batch_size, "batch_size"),
    field<&Recipe::epochs>(RecipeField::epochs, "epochs", /*may_change=*/true),
    field<&Recipe::lr>(RecipeField::lr, "lr"),
    field<&Recipe::weight_decay>(RecipeField::weight_decay, "weight_decay"),
    field<&Recipe::schedule>(RecipeField::schedule, "schedule"),
    field<&Recipe::label_smoothing>(RecipeField::label_smoothing, "label_smoothing"),
    field<&Recipe::patience>(RecipeField::patience, "patience", /*may_change=*/true),
    field<&Recipe::evaluation>(RecipeField::evaluation, "evaluation", /*may_change=*/true),
    field<&Recipe::log_steps>(RecipeField::log_steps, "log_steps", /*may_change=*/true),
    field<&Recipe::seed>(RecipeField::seed, "seed"),
};

// The value as the user writes it: "256", "15,10", "gcn".
std::string text_of(const Field& field, const Recipe& recipe) {
  const ordered_json value = field.get(recipe);
  if (value.is_array()) return format_fanout(recipe.fanout);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string option_of(const Field& field) {
  std::string option = fmt::format("--{}", field.name);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

std::optional<uint32_t> parse_one_fanout(std::string_view word) {
  if (word == "-1" || word == "all") return kAllNeighbors;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  if (!whole || number == 0 || number == kAllNeighbors) return std::nullopt;
  return number;
}

void check_share(std::string_view option, double value) {
  if (!(value >= 0 && value < 1)) {
    fail(ErrorKind::usage, "{} {}: it must be from 0 to less than 1", option, value);
  }
}

void check_at_least_1(std::string_view option, uint64_t value) {
  if (value < 1) fail(ErrorKind::usage, "{} {}: it must be 1 or more", option, value);
}

}  // namespace

std::string_view name(ModelKind kind) { return kModels.at(static_cast<size_t>(kind)); }
std::string_view name(Norm norm) { return kNorms.at(static_cast<size_t>(norm)); }
std::string_view name(Draw draw) { return kDraws.at(static_cast<size_t>(draw)); }
std::string_view name(Evaluation evaluation) {
  return kEvaluations.at(static_cast<size_t>(evaluation));
}
std::string_view name(Schedule schedule) { return kSchedules.at(static_cast<size_t>(schedule)); }

ModelKind parse_model(std::string_view word) { return parse<ModelKind>("model", word); }
Norm parse_norm(std::string_view word) { return parse<Norm>("norm", word); }
Draw parse_draw(std::string_view word) { return parse<Draw>("sampler", word); }
Evaluation parse_evaluation(std::string_view word) { return parse<Evaluation>("evaluation", word); }
Schedule parse_schedule(std::string_view word) { return parse<Schedule>("schedule", word); }

std::optional<Fanout> parse_fanout(std::string_view word) {
  Fanout fanout;
  for (size_t begin = 0; begin <= word.size();) {
    const size_t comma = std::min(word.find(',', begin), word.size());
    const auto one = parse_one_fanout(word.substr(begin, comma - begin));
    if (!one) return std::nullopt;
    fanout.push_back(*one);
    begin = comma + 1;
  }
  return fanout;
}

std::string format_fanout(const Fanout& fanout) {
  std::string text;
  for (const uint32_t one : fanout) {
    if (!text.empty()) text += ",";
    text += one == kAllNeighbors ? "all" : fmt::format("{}", one);
  }
  return text;
}

std::string describe(const Recipe& recipe) {
  const size_t layers = recipe.fanout.size();
  std::string text = fmt::format("{}, {} layer{}, hidden {}", name(recipe.model), layers,
                                 layers == 1 ? "" : "s", recipe.hidden);
  if (recipe.model == ModelKind::gat)
    text += fmt::format(", {} head{}", recipe.heads, recipe.heads == 1 ? "" : "s");
  if (recipe.model != ModelKind::mlp) {
    text += fmt::format(", fan-out {}", format_fanout(recipe.fanout));
  }
  if (recipe.sampler != Draw::uniform) text += fmt::format(" by {}", name(recipe.sampler));
  text += fmt::format(", batch {}", recipe.batch_size);
  if (recipe.batch_norm) text += ", batch norm";
  if (recipe.model == ModelKind::gcn) text += fmt::format(", norm {}", name(recipe.norm));
  return text;
}

void check(const Recipe& recipe) {
  if (recipe.fanout.empty() || recipe.fanout.size() > kMostLayers) {
    fail(ErrorKind::usage,
         "--fanout has {} numbers, one for each layer; a model has 1 to {} layers",
         recipe.fanout.size(), kMostLayers);
  }
  for (const uint32_t one : recipe.fanout) {
    if (one == 0) fail(ErrorKind::usage, "--fanout {}: it must be 1 or more, or all", one);
  }
  check_at_least_1("--hidden", recipe.hidden);
  check_at_least_1("--heads", recipe.heads);
  if (recipe.model == ModelKind::gat && recipe.hidden % recipe.heads != 0) {
    fail(ErrorKind::usage,
         "--hidden {} is not a multiple of --heads {}; gat divides the columns among the heads",
         recipe.hidden, recipe.heads);
  }
  check_share("--dropout", recipe.dropout);
  check_at_least_1("--batch-size", recipe.batch_size);
  check_at_least_1("--epochs", recipe.epochs);
  if (!(recipe.lr > 0 && recipe.lr < kHighest)) {
    fail(ErrorKind::usage, "--lr {}: it must be more than 0 and less than {}", recipe.lr, kHighest);
  }
  if (!(recipe.weight_decay >= 0 && recipe.weight_decay < kHighest)) {
    fail(ErrorKind::usage, "--weight-decay {}: it must be 0 or more and less than {}",
         recipe.weight_decay, kHighest);
  }
  check_share("--label-smoothing", recipe.label_smoothing);
  check_at_least_1("--log-steps", recipe.log_steps);
}

ordered_json to_json(const Recipe& recipe) {
  ordered_json json = ordered_json::object();
  for (const Field& field : kFields) json[field.name] = field.get(recipe);
  return json;
}

ordered_json to_json(const Fanout& fanout) {
  ordered_json json = ordered_json::array();
  for (const uint32_t one : fanout) json.push_back(one == kAllNeighbors ? -1 : int64_t{one});
  return json;
}

Recipe from_json(const json& json, std::string_view where) {
  if (!json.is_object()) fail(ErrorKind::input, "{}: the recipe is not a JSON object", where);
  for (const auto& [key, value] : json.items()) {
    if (key == "reuse_epochs" && value == 1) continue;  // older versions wrote it
    const auto named = [&key = key](const Field& field) { return field.name == key; };
    if (std::none_of(kFields.begin(), kFields.end(), named)) {
      fail(ErrorKind::input, "{}: the recipe has {}, which this version does not know", where, key);
    }
  }
  Recipe recipe;
  for (const Field& field : kFields) {
    const auto value = json.find(field.name);
    if (value == json.end() && field.is_new) continue;
    if (value == json.end()) fail(ErrorKind::input, "{}: the recipe has no {}", where, field.name);
    if (const std::string expected = field.set(recipe, *value); !expected.empty()) {
      fail(ErrorKind::input, "{}: {} is {}, {} expected", where, field.name, value->dump(),
           expected);
    }
  }
  try {
    check(recipe);
  } catch (const Error& error) {
    fail(ErrorKind::input, "{}: {}", where, error.what());
  }
  return recipe;
}

Recipe parse(std::string_view text, std::string_view where) {
  return from_json(read_json(text, where), where);
}

Recipe resume(const Recipe& stored, const Recipe& given, const RecipeFields& fields) {
  Recipe recipe = stored;
  for (const Field& field : kFields) {
    if (!fields.contains(field.id)) continue;
    if (field.may_change) {
      field.copy(recipe, given);
    } else if (field.get(given) != field.get(stored)) {
      fail(ErrorKind::usage,
           "{} {} was given, the checkpoint has {}; leave it out, or start a new run",
           option_of(field), text_of(field, given), text_of(field, stored));
    }
  }
  check(recipe);
  return recipe;
}

}  // namespace plimsoll::recipe
