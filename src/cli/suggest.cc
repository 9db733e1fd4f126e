#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "cli/arguments.h"
#include "cli/help.h"

namespace plimsoll::cli {
namespace {

const CLI::App& innermost_command(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return *app;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto meant = nearest(word, candidates);
  return meant ? fmt::format("; did you mean {}?", *meant) : "";
}

// Options of other training scripts whose meaning is another one here.
struct ForeignOption {
  std::string_view name;  // without dashes, with hyphens
  std::string_view hint;
};
constexpr std::array<ForeignOption, 28> kForeignOptions = {{
    {"lr-decay", "--schedule cosine or --schedule plateau lowers the learning rate"},
    {"gamma", "--schedule cosine or --schedule plateau lowers the learning rate"},
    {"scheduler", "--schedule cosine or --schedule plateau lowers the learning rate"},
    {"lr-scheduler", "--schedule cosine or --schedule plateau lowers the learning rate"},
    {"gpu", "give --device cuda:0 for the first GPU"},
    {"gpus", "give --ranks N, one process for each GPU"},
    {"cuda", "give --device cuda"},
    {"use-gpu", "give --device cuda"},
    {"use-cuda", "give --device cuda"},
    {"no-cuda", "give --device cpu"},
    {"cpu", "give --device cpu"},
    {"optimizer", "the optimizer is Adam; --lr and --weight-decay set it"},
    {"opt", "the optimizer is Adam; --lr and --weight-decay set it"},
    {"dataset", "name the folder of the store, or an OGB data set's with --data-root"},
    {"data", "name the folder of the store, or an OGB data set's with --data-root"},
    {"root", "name the folder of the store, or an OGB data set's with --data-root"},
    {"runs", "--seeds N trains N times and shows mean and standard deviation"},
    {"num-runs", "--seeds N trains N times and shows mean and standard deviation"},
    {"logdir", "--log tensorboard writes its files to --save-dir"},
    {"log-dir", "--log tensorboard writes its files to --save-dir"},
    {"tensorboard", "--log tensorboard writes its files to --save-dir"},
    {"early-stopping-patience", "give --patience N"},
    {"log-every", "every epoch has its line; --log-steps N evaluates every N epochs"},
    {"wandb", "--log csv, jsonl or tensorboard writes what such tools read"},
    {"checkpoint", "--resume FOLDER continues the run in that folder"},
    {"ckpt", "--resume FOLDER continues the run in that folder"},
    {"eval-batch-size", "evaluations use --batch-size"},
    {"test-batch-size", "evaluations use --batch-size"},
}};

// Empty if nothing is known about it.
std::string foreign_hint(const CLI::App& app, const std::string& option) {
  // Only where a model is trained or planned.
  if (app.get_option_no_throw("--fanout") == nullptr) return {};
  std::string name = option.substr(std::min(option.size(), option.find_first_not_of('-')));
  std::ranges::replace(name, '_', '-');
  const auto* const found = std::ranges::find(kForeignOptions, name, &ForeignOption::name);
  return found == kForeignOptions.end() ? std::string() : fmt::format("; {}", found->hint);
}

// Models that other libraries have. Some look like a slip of the pen for one of ours.
constexpr std::array<std::string_view, 10> kForeignModels = {
    "gin", "gatv2", "gcn2", "gcnii", "appnp", "sgc", "sign", "rgcn", "pna", "transformer"};

std::string foreign_model_hint(const CLI::Option& option, std::string value) {
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (option.get_name() != "--model" || !std::ranges::count(kForeignModels, value)) return {};
  return fmt::format("; choose from {}, or train your own model with the Python loader",
                     fmt::join(allowed_words(option), ", "));
}

// "--patience needs a value", and other names that the user may have written.
std::string without_value(const CLI::Option& option) {
  std::vector<std::string> others;
  for (const std::string& name : option.get_lnames()) {
    if ("--" + name != option.get_name() && name.find('_') == std::string::npos)
      others.push_back("--" + name);
  }
  return fmt::format(
      "{} needs a value{}", option.get_name(),
      others.empty() ? "" : fmt::format(" (also called {})", fmt::join(others, ", ")));
}

// CLI11 takes the next word as the value, even if it is an option. Empty if none did so.
std::string swallowed_option(const CLI::App& app) {
  const std::vector<std::string> names = option_names(app);
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (std::ranges::count(names, value.substr(0, value.find('=')))) {
        return fmt::format("{}; {} follows it", without_value(*option), value);
      }
    }
  }
  return {};
}

std::string explain_leftover(const CLI::App& app, const std::string& leftover) {
  if (leftover.starts_with("-")) {
    const std::string option = leftover.substr(0, leftover.find('='));
    const std::string hint = option.starts_with("--") ? foreign_hint(app, option) : "";
    return fmt::format("unknown option {}{}", option,
                       hint.empty() ? did_you_mean(option, option_names(app)) : hint);
  }
  const auto commands = command_names(app);
  if (commands.empty()) return fmt::format("unexpected argument '{}'", leftover);
  const std::string meant = did_you_mean(leftover, commands);
  return fmt::format(
      "unknown command {}{}", leftover,
      meant.empty() ? fmt::format("; there are {}", fmt::join(commands, ", ")) : meant);
}

// CLI11 names the option at the beginning of its messages, or after "Could not convert: ".
const CLI::Option* option_of(const CLI::App& app, const std::string& message) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (!name.empty() && (message.starts_with(name + ":") || message.starts_with(name + " is") ||
                          message.find(": " + name + " = ") != std::string::npos)) {
      return option;
    }
  }
  return nullptr;
}

std::string explain_value(const CLI::Option& option, const CLI::ParseError& error) {
  const std::string name = option.get_name();
  const std::string value = option.results().empty() ? "" : option.results().back();
  if (const auto values = allowed_words(option); !values.empty()) {
    const std::string foreign = foreign_model_hint(option, value);
    const std::string meant = foreign.empty() ? did_you_mean(value, values) : foreign;
    return fmt::format(
        "{} cannot be '{}'{}", name, value,
        meant.empty() ? fmt::format("; choose from {}", fmt::join(values, ", ")) : meant);
  }
  if (option.get_expected_max() == 0) return fmt::format("{} takes no value", name);
  if (error.get_name() == "ConversionError") {
    // A number that could not be converted is one with a sign or a fraction too much.
    double number = 0;
    const bool is_number = CLI::detail::lexical_cast(value, number);
    return fmt::format("{} cannot be '{}'; write a {}", name, value,
                       is_number ? "whole number, from 0 up" : "number");
  }
  return error.what();
}

}  // namespace

std::string given_command(const CLI::App& root) {
  std::string path = root.get_name();
  for (const CLI::App* app = &root; !app->get_subcommands().empty();) {
    app = app->get_subcommands().back();
    path += " " + app->get_name();
  }
  return path;
}

std::string explain_parse_error(const CLI::App& root, const CLI::ParseError& error) {
  // An unknown word comes first: what CLI11 complains about is often only its consequence.
  for (const CLI::App* app = &root;; app = app->get_subcommands().back()) {
    if (std::string swallowed = swallowed_option(*app); !swallowed.empty()) return swallowed;
    if (const auto leftover = app->remaining(); !leftover.empty()) {
      return explain_leftover(*app, leftover.front());
    }
    if (app->get_subcommands().empty()) break;
  }
  const CLI::App& app = innermost_command(root);
  std::string message = error.what();
  if (message.starts_with("A subcommand")) {
    return fmt::format("a command is missing; there are {}", fmt::join(command_names(app), ", "));
  }
  const CLI::Option* option = option_of(app, message);
  if (option == nullptr) return message;
  if (error.get_name() == "RequiredError") return fmt::format("{} is missing", option->get_name());
  if (error.get_name() == "ArgumentMismatch") {
    return option->count() > 1 ? option->get_name() + " is given more than once"
                               : without_value(*option);
  }
  return explain_value(*option, error);
}

}  // namespace plimsoll::cli
