// How a command joins the program: one function that installs a subcommand, declared here, called
// in main.cc. It keeps its options in a struct shared with the callback, since both outlive the
// function:
//
//   void add_inspect(CLI::App& app) {
//     CLI::App* command = app.add_subcommand("inspect", "One line for the list of commands");
//     auto options = std::make_shared<InspectOptions>();
//     command->add_option("STORE", options->store, "folder of the store")->required();
//     add_memory(*command, options->memory_bytes);
//     command->footer("Examples:\n  plimsoll inspect papers.plim");
//     command->callback([options] { inspect(*options); });
//   }
//
// The callback runs once the whole command line has been understood and may throw Error,
// ExitWith or Interrupted. A command with subcommands of its own (import ogb) says
// require_subcommand(1) and has no callback.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace plimsoll::cli {

void add_demo(CLI::App& app);
void add_import(CLI::App& app);
void add_torch(CLI::App& app);
void add_synth(CLI::App& app);
void add_precompute(CLI::App& app);
void add_inspect(CLI::App& app);
void add_plan(CLI::App& app);
void add_train(CLI::App& app);
void add_predict(CLI::App& app);
void add_explain(CLI::App& app);
void add_doctor(CLI::App& app);
void add_completion(CLI::App& app);
// `words`: the words after `--`, which the parser does not read.
void add_exec(CLI::App& app, const std::vector<std::string>& words);
void add_slurm(CLI::App& app, const std::vector<std::string>& words);
void add_slurm_exec(CLI::App& slurm, const std::vector<std::string>& words);
void add_orphans(CLI::App& app);
void add_run(CLI::App& app);
void add_status(CLI::App& app);
void add_results(CLI::App& app);
void add_serve(CLI::App& app);
void add_compare(CLI::App& app);
void add_report(CLI::App& app);

}  // namespace plimsoll::cli
