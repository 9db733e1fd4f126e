#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/terminal.h"
#include "cli/arguments.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kLeftColumns = 26;  // names and values; descriptions begin after them
constexpr const char* kHelpGroup = "Help";

std::string entry(const std::string& left, const std::string& description) {
  const std::string text = wrap(description, kLeftColumns);
  if (left.size() + 4 <= kLeftColumns)
    return fmt::format("  {:<{}}{}\n", left, kLeftColumns - 2, text);
  return fmt::format("  {}\n{:{}}{}\n", left, "", kLeftColumns, text);
}

std::string option_entry(const CLI::Option& option) {
  std::string left = option.get_positional()
                         ? option.get_name(true)
                         : fmt::format("{}", fmt::join(shown_names(option), ", "));
  const std::string value = value_name(option);
  const bool named_by_value = option.get_positional() && allowed_words(option).empty();
  if (!value.empty() && !named_by_value) left += " " + value;
  std::string description = option.get_description();
  if (option.get_required() && !option.get_positional()) description += " [required]";
  if (!option.get_default_str().empty()) {
    description += fmt::format(" [default: {}]", option.get_default_str());
  }
  return entry(left, description);
}

class HelpLayout : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    const auto commands = app->get_subcommands([](const CLI::App* command) {
      return !command->get_name().empty() && !command->get_group().empty();
    });
    std::string help = "Usage: " + name;
    for (const CLI::Option* option : positionals(*app)) {
      const std::string word =
          option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
      help += option->get_required() ? " " + word : " [" + word + "]";
    }
    if (!commands.empty()) help += " COMMAND";
    help += " [options]\n\n" + wrap(app->get_description(), 0) + "\n";
    help += section("Arguments", positionals(*app));
    if (!commands.empty()) help += "\nCommands:\n";
    for (const CLI::App* command : commands) {
      help += entry(command->get_name(), command->get_description());
    }
    for (const std::string& group : option_groups(*app)) help += section(group, named(*app, group));
    if (!app->get_footer().empty()) help += "\n" + app->get_footer() + "\n";
    return help;
  }

 private:
  using Options = std::vector<const CLI::Option*>;

  static Options positionals(const CLI::App& app) {
    return app.get_options([](const CLI::Option* option) {
      return option->get_positional() && !option->get_group().empty();
    });
  }

  // The help option stands last, whatever group CLI11 gave it.
  static std::string group_of(const CLI::App& app, const CLI::Option* option) {
    return option == app.get_help_ptr() ? kHelpGroup : option->get_group();
  }

  static Options named(const CLI::App& app, const std::string& group) {
    return app.get_options([&](const CLI::Option* option) {
      return option->nonpositional() && group_of(app, option) == group;
    });
  }

  static std::vector<std::string> option_groups(const CLI::App& app) {
    std::vector<std::string> groups;
    for (const CLI::Option* option : app.get_options()) {
      const std::string group = group_of(app, option);
      const bool known = std::find(groups.begin(), groups.end(), group) != groups.end();
      if (option->nonpositional() && !group.empty() && group != kHelpGroup && !known) {
        groups.push_back(group);
      }
    }
    groups.emplace_back(kHelpGroup);
    return groups;
  }

  static std::string section(const std::string& title, const Options& options) {
    if (options.empty()) return {};
    std::string text = "\n" + title + ":\n";
    for (const CLI::Option* option : options) text += option_entry(*option);
    return text;
  }
};

}  // namespace

void set_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpLayout>());
  app.set_help_flag("-h,--help", "show this help");
}

std::vector<std::string> shown_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  // The others are spellings of other programs.
  if (!option.get_lnames().empty()) names.push_back("--" + option.get_lnames().front());
  return names;
}

std::string value_name(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return {};
  if (const auto values = allowed_words(option); !values.empty()) {
    return fmt::format("{{{}}}", fmt::join(values, ","));
  }
  const std::string type = option.get_type_name();
  return type.empty() ? "VALUE" : type.substr(0, type.find(':'));
}

}  // namespace plimsoll::cli
