// The program: its commands, and how their errors are reported. docs/reference/errors.md lists the
// exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "cli/command.h"
#include "cli/help.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kDescription =
    "Trains graph neural networks on graphs larger than memory, within a memory limit. Also runs "
    "and supervises other training commands, and leaves none of their processes behind.";

constexpr const char* kFooter = R"(Exit codes:
  0  done                3  input data unusable       6  operating system refused
  1  internal error      4  memory limit too small    7  output exists already
  2  command line wrong  5  disk full                 8  store unusable
  9  training stopped on request, --resume continues  10  training diverged
  11  experiments of a batch failed                   12  batch paused: same failure five times
  13  another rank of a training was lost, --resume continues
  exec: the command's own code, or 121 hung, 122 memory limit, 124 timeout, 125 not supervised
  128 + N  ended by signal N
docs/reference/errors.md explains each of them and what to do.

Examples:
  plimsoll import ogb --help
  plimsoll inspect papers.plim
  plimsoll plan papers.plim --memory 16G
  plimsoll train papers.plim --model sage --save-dir models/
  plimsoll exec --memory 16G --timeout 2h --log run.log -- python train.py
  plimsoll slurm train papers.plim --model sage --save-dir models/ --submit
  plimsoll run -ec settings.json --dry-run
  plimsoll explain 137
  plimsoll completion bash)";

constexpr const char* kExec = "exec";
constexpr const char* kRun = "run";
constexpr const char* kSlurmWord = "slurm";

constexpr int kReaderGone = 128 + SIGPIPE;  // as a shell reports a program that SIGPIPE ended

void parse_and_run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
  }
  if (std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
  }
}

// Plain stdio: nothing may throw while an error is reported.
int report(const CLI::App& app, const std::string& message, int code) {
  std::fflush(stdout);
  std::fputs(printable(fmt::format("{}: {}\n", given_command(app), message)).c_str(), stderr);
  return code;
}

int report_bug(const CLI::App& app, const char* what) {
  return report(
      app,
      fmt::format("internal error: {}\nThis is a bug: please report it with the command.", what),
      exit_code(ErrorKind::internal));
}

int report_system_error(const CLI::App& app, const std::system_error& error) {
  if (error.code() == std::errc::broken_pipe) return kReaderGone;
  if (error.code() == std::errc::resource_unavailable_try_again) {
    return report(app,
                  "the operating system starts no more threads now; end other programs, lower "
                  "--threads and --workers, or raise the limits (ulimit -u, ulimit -v, pids.max)",
                  exit_code(ErrorKind::io));
  }
  const bool full = error.code() == std::errc::no_space_on_device;
  return report(app, error.what(), exit_code(full ? ErrorKind::disk : ErrorKind::io));
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    parse_and_run(app, argc, argv);
    return 0;
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const CLI::ParseError& error) {
    return report(
        app, fmt::format("{}\nSee {} --help.", explain_parse_error(app, error), given_command(app)),
        exit_code(ErrorKind::usage));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) return report_bug(app, error.what());
    return report(app, error.what(), exit_code(error.kind()));
  } catch (const Interrupted& interrupted) {
    const int signal_number = interrupted.signal_number();
    return report(app,
                  fmt::format("ended by signal {} ({})", signal_number, strsignal(signal_number)),
                  128 + signal_number);
  } catch (const std::bad_alloc&) {
    return report(app,
                  "the operating system has no more memory; lower --memory or end other programs",
                  exit_code(ErrorKind::memory));
  } catch (const std::system_error& error) {
    return report_system_error(app, error);
  } catch (const std::exception& error) {
    return report_bug(app, error.what());
  }
}

void take_signals() {
  // A reader that goes away, as in `plimsoll inspect x | head`, is then a failed write, which ends
  // the program through its destructors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is a failed write, too
  watch_for_interrupts();
}

// A stream that was closed gives its number to the next file that is opened, and what is meant for
// the stream would then go into that file.
void open_missing_streams() {
  for (int opened = 0; opened <= STDERR_FILENO;) {
    opened = open("/dev/null", O_RDWR);
    if (opened < 0) return;
    if (opened > STDERR_FILENO) close(opened);
  }
}

// Whether the command line begins with this command, or with the same of `slurm`.
bool begins_with(int argc, char** argv, std::string_view command) {
  const bool slurm = argc > 2 && std::string_view(argv[1]) == kSlurmWord;
  return argc > 1 && std::string_view(argv[slurm ? 2 : 1]) == command;
}

// After the first `--` of an exec follows the command line of another program. It is removed before
// the parser could read its words as our options.
std::vector<std::string> split_off_command(int& argc, char** argv) {
  std::vector<std::string> words;
  char** const end = argv + argc;
  if (!begins_with(argc, argv, kExec)) return words;
  char** const separator = std::find(argv, end, std::string_view("--"));
  if (separator == end) return words;
  words.assign(separator + 1, end);
  argc = static_cast<int>(separator - argv);
  return words;
}

// Options with one dash and two letters: scripts for batches use them, and the parser does not know
// them.
void spell_out(int argc, char** argv) {
  static std::array<std::pair<std::string_view, std::string>, 3> long_ones = {
      {{"-ec", "--experiment-config"}, {"-mt", "--mutate"}, {"-mr", "--max-retries"}}};
  if (!begins_with(argc, argv, kRun)) return;
  for (int i = 2; i < argc; ++i) {
    for (auto& [brief, whole] : long_ones) {
      if (argv[i] == brief) argv[i] = whole.data();
    }
  }
}

int start(int argc, char** argv) {
  const auto words = split_off_command(argc, argv);
  spell_out(argc, argv);
  CLI::App app(kDescription, "plimsoll");
  set_help(app);
  app.set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION, "show the version")
      ->group("Help");
  app.require_subcommand(1);
  add_import(app);
  add_synth(app);
  add_precompute(app);
  add_inspect(app);
  add_plan(app);
  add_train(app);
  add_predict(app);
  add_exec(app, words);
  add_slurm(app, words);
  add_orphans(app);
  add_run(app);
  add_status(app);
  add_results(app);
  add_serve(app);
  add_compare(app);
  add_report(app);
  add_explain(app);
  add_doctor(app);
  add_torch(app);
  add_demo(app);
  add_completion(app);
  app.footer(kFooter);
  // Before any command's callback. A supervised command must find signals as we found them, and
  // exec and run fork while they have one thread: they take signals their own way.
  app.parse_complete_callback([&app] {
    const bool supervises = app.got_subcommand(kExec) || app.got_subcommand(kRun) ||
                            app.get_subcommand(kSlurmWord)->got_subcommand(kExec);
    if (!supervises) take_signals();
  });
  return run(app, argc, argv);
}

}  // namespace
}  // namespace plimsoll::cli

int main(int argc, char** argv) {
  plimsoll::cli::open_missing_streams();  // before anything else opens a file
  try {
    return plimsoll::cli::start(argc, argv);
  } catch (...) {  // there is no app yet to name in a message, or no memory for one
    std::fputs("plimsoll: cannot start\n", stderr);
    return plimsoll::exit_code(plimsoll::ErrorKind::internal);
  }
}
