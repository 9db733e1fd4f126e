// The pages over HTTP: read-only, for few readers, on loopback unless told otherwise. cpp-httplib
// parses requests; this decides who is answered with what.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "serve/request.h"
#include "serve/run_board.h"

namespace httplib {
class Server;
struct Request;
struct Response;
}  // namespace httplib

namespace plimsoll::serve {

struct ServeOptions {
  std::filesystem::path folder;
  std::string host = "127.0.0.1";
  int port = 0;        // 0: any free one
  bool token = false;  // also on loopback; elsewhere there always is one
  size_t most_connections = 256;
};

// Lets all threads share two heaps, so that many waiting threads take little memory. Call it before
// the first thread is started.
void share_memory_of_threads();

class LiveServer {
 public:
  // Looks at the runs and takes the port. Throws Error{io} if the port or the folder cannot be
  // used.
  LiveServer(const ServeOptions& options, RunViews views);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  int port() const { return port_; }
  size_t runs() const { return board_.runs(); }
  const std::string& token() const { return policy_.token; }  // empty: none

  // Answers until `should_stop`, which is asked a few times a second. Open pages do not delay it.
  void run(const std::function<bool()>& should_stop);

 private:
  void bind(const ServeOptions& options);
  void answer(const httplib::Request& request, httplib::Response& response);
  bool admit(const httplib::Request& request, httplib::Response& response) const;
  void send_events(const std::string& id, httplib::Response& response);
  void send_page(const std::string& id, bool whole, httplib::Response& response);

  const AccessPolicy policy_;
  std::string cookie_;  // its name has the port: cookies are for all ports of a host
  RunBoard board_;
  const size_t most_pages_;  // with open events
  std::atomic<size_t> open_pages_ = 0;
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
};

}  // namespace plimsoll::serve
