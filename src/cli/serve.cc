// plimsoll serve: shows the runs under a folder as live pages in a browser.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/host.h"
#include "base/interrupt.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/command.h"
#include "serve/request.h"
#include "serve/run_board.h"
#include "serve/server.h"

namespace plimsoll::cli {
namespace {

void print_addresses(const serve::ServeOptions& options, const serve::LiveServer& server) {
  const std::string name = host_name();
  const std::string machine = name.empty() ? "HOST" : name;
  const std::string shown = serve::is_wildcard(options.host) ? machine : options.host;
  const std::string path = server.token().empty() ? "/" : "/?token=" + server.token();
  print("{} under {}, read-only, at\n  http://{}:{}{}\n", counted(server.runs(), "run"),
        options.folder.string(), serve::host_in_address(shown), server.port(), path);
  if (serve::is_loopback(options.host)) {
    print(
        "To see them on another machine, run this there, and open the same address there:\n"
        "  ssh -N -L {}:{}:{} {}\n",
        server.port(), serve::host_in_address(options.host), server.port(), machine);
  }
  print("Ctrl-C ends it.\n");
  std::fflush(stdout);
}

void run_server(const serve::ServeOptions& options) {
  serve::share_memory_of_threads();
  serve::LiveServer server(options, serve::report_views());
  print_addresses(options, server);
  server.run([] { return pending_interrupt() != 0; });
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("serve", "Show trainings and batches as live pages in a browser");
  auto options = std::make_shared<serve::ServeOptions>();
  options->folder = ".";
  command->add_option("FOLDER", options->folder,
                      "folder with runs, at most four folders deep; default: this folder");
  command->add_option("--port", options->port, "port to listen on; 0 is any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      ->add_option("--host", options->host,
                   "address to listen on; any but loopback needs a token, which is printed")
      ->capture_default_str();
  command->add_flag("--token", options->token,
                    "ask for a token on loopback, too: other users of this machine can connect");
  command->footer(
      "The pages change while runs go on. Nothing can be started, stopped or changed there.\n"
      "/metrics has the figures for Prometheus. SIGINT and SIGTERM end the server with exit code "
      "0.\n\n"
      "Examples:\n  plimsoll serve\n  plimsoll serve results --port 8080\n"
      "  plimsoll serve /data/runs --host 0.0.0.0 --port 8080");
  command->callback([options] { run_server(*options); });
}

}  // namespace plimsoll::cli
