#include "serve/server.h"

#include <httplib.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "base/parallel.h"
#include "base/units.h"
#include "serve/connection_threads.h"
#include "serve/live_page.h"
#include "serve/request.h"

namespace plimsoll::serve {
namespace {

namespace fs = std::filesystem;
using httplib::Request;
using httplib::Response;
using std::chrono::milliseconds;

// A change is on the page within a second: a look, an event, and the page asks for the new body.
constexpr auto kLookInterval = milliseconds(400);
constexpr auto kHeartbeat = std::chrono::seconds(15);  // so that dead readers are found
constexpr auto kAskInterval = milliseconds(100);
constexpr size_t kForRequests = 32;  // connections that open pages leave for short requests
constexpr size_t kSendBytes = 64 << 10;
constexpr const char* kHtml = "text/html; charset=utf-8";

// Nothing from outside, nothing inline; no other page may frame this one or read its answers.
httplib::Headers security_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

// On the socket that listens; those of connections inherit them. Two servers cannot have the same
// port, as the library would allow by default.
void set_options(socket_t socket) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_REUSEADDR, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

// Sent in pieces from the one copy that all connections share. The library would compress a plain
// text, which takes time and memory for nothing on loopback.
void send_text(SharedText text, const char* type, Response& response) {
  const size_t size = text->size();
  response.set_content_provider(
      size, type, [text = std::move(text)](size_t offset, size_t length, httplib::DataSink& sink) {
        return sink.write(text->data() + offset, std::min(length, kSendBytes));
      });
}

void send_text(std::string text, const char* type, Response& response) {
  send_text(std::make_shared<const std::string>(std::move(text)), type, response);
}

void refuse(int status, std::string_view what, Response& response) {
  response.status = status;
  send_text(error_document(status, what), kHtml, response);
}

// The token in the headers: a cookie for browsers, "Authorization: Bearer" for programs.
std::string token_of(const Request& request, const std::string& cookie) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string authorization = request.get_header_value("Authorization");
  if (authorization.starts_with(kBearer)) return authorization.substr(kBearer.size());
  return cookie_in(request.get_header_value("Cookie"), cookie);
}

bool is_connection_at(int fd, int port) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  int listens = 0;
  socklen_t listens_length = sizeof(listens);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
  ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_length);
  if (listens != 0) return false;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port) == port;
  }
  return address.ss_family == AF_INET6 &&
         ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port) == port;
}

// The library waits for each connection's own end, which a slow reader may put off. It keeps the
// sockets to itself, so they are found among the files that are open.
void end_connections(int port) {
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", unreadable)) {
    const std::string name = entry.path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0 && is_connection_at(fd, port)) ::shutdown(fd, SHUT_RDWR);
  }
}

fs::path real_folder(const fs::path& folder) {
  std::error_code problem;
  fs::path real = fs::canonical(folder, problem);
  if (problem) {
    fail(ErrorKind::io, "cannot serve {}: {}; give a folder that has runs", folder.string(),
         problem.message());
  }
  if (!fs::is_directory(real)) {
    fail(ErrorKind::usage, "cannot serve {}: it is a file; give a folder that has runs",
         folder.string());
  }
  return real;
}

}  // namespace

void share_memory_of_threads() {
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, static_cast<int>(128 * kKiB));
}

LiveServer::LiveServer(const ServeOptions& options, RunViews views)
    : policy_(policy_for(options.host, host_name(),
                         options.token || !is_loopback(options.host) ? make_token() : "")),
      board_(real_folder(options.folder), std::move(views)),
      most_pages_(options.most_connections - std::min(kForRequests, options.most_connections / 2)),
      server_(std::make_unique<httplib::Server>()) {
  const size_t most = options.most_connections;
  server_->new_task_queue = [most] { return new ConnectionThreads(most); };
  server_->set_default_headers(security_headers());
  server_->set_socket_options(set_options);
  server_->set_tcp_nodelay(true);
  server_->set_keep_alive_max_count(1);  // a connection is a thread: none waits for more requests
  server_->set_read_timeout(5, 0);
  server_->set_write_timeout(10, 0);
  server_->set_payload_max_length(0);
  server_->set_pre_routing_handler([this](const Request& request, Response& response) {
    answer(request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  server_->set_exception_handler([](const Request&, Response& response, const std::exception_ptr&) {
    refuse(500, "The page could not be made.", response);
  });
  bind(options);
  cookie_ = fmt::format("plimsoll_{}", port_);
  board_.look(milliseconds(0));
}

LiveServer::~LiveServer() = default;

void LiveServer::bind(const ServeOptions& options) {
  errno = 0;
  port_ = options.port;
  const bool bound = options.port == 0 ? (port_ = server_->bind_to_any_port(options.host)) > 0
                                       : server_->bind_to_port(options.host, options.port);
  if (bound) return;
  const int problem = errno;
  fail(ErrorKind::io, "cannot listen on {}, port {}: {}; {}", options.host, options.port,
       problem == 0 ? "this machine has no such address" : std::strerror(problem),
       problem == EADDRINUSE ? "choose another --port, or 0 for any free one"
                             : "choose another --host or --port");
}

bool LiveServer::admit(const Request& request, Response& response) const {
  if (ConnectionThreads::must_refuse()) {
    response.set_header("Retry-After", "5");
    refuse(503, "Too many pages are open. Close some, or try again later.", response);
    return false;
  }
  if (request.get_header_value_count("Host") != 1 ||
      !allows_host(policy_, request.get_header_value("Host"))) {
    refuse(421, "This server does not answer for that host name. Use the address that it printed.",
           response);
    return false;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    response.set_header("Allow", "GET, HEAD");
    refuse(405, "These pages can only be read.", response);
    return false;
  }
  return true;
}

void LiveServer::answer(const Request& request, Response& response) {
  if (!admit(request, response)) return;
  if (!allows_token(policy_, token_of(request, cookie_))) {
    if (!request.has_param("token") || !allows_token(policy_, request.get_param_value("token"))) {
      response.set_header("WWW-Authenticate", "Bearer");
      return refuse(401, "Open the address with the token that plimsoll serve printed.", response);
    }
    response.set_header("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict",
                                                  cookie_, policy_.token));
    return send_text(welcome_document("/"), kHtml, response);
  }
  const PageAddress address = address_of(request.path);
  switch (address.kind) {
    case PageAddress::Kind::list:
    case PageAddress::Kind::run:
      board_.look(kLookInterval);
      if (address.part == Part::events) return send_events(address.id, response);
      return send_page(address.id, address.part == Part::document, response);
    case PageAddress::Kind::metrics:
      board_.look(kLookInterval);
      return send_text(metrics_text(board_.measured()), "text/plain; version=0.0.4; charset=utf-8",
                       response);
    case PageAddress::Kind::script:
      return send_text(std::string(live_script()), "text/javascript; charset=utf-8", response);
    case PageAddress::Kind::style:
      return send_text(live_style(), "text/css; charset=utf-8", response);
    case PageAddress::Kind::icon:
      return send_text(std::string(live_icon()), "image/svg+xml", response);
    case PageAddress::Kind::nothing:
      return refuse(404, "There is no such page.", response);
  }
}

void LiveServer::send_page(const std::string& id, bool whole, Response& response) {
  const std::optional<Body> body = id.empty() ? board_.list() : board_.run(id);
  if (!body) return refuse(404, "There is no such run (any more).", response);
  response.set_header("X-Version", body->version);
  if (whole) return send_text(live_document(*body, id.empty()), kHtml, response);
  send_text(body->text, kHtml, response);
}

void LiveServer::send_events(const std::string& id, Response& response) {
  if (board_.version(id).empty()) {
    return refuse(404, "There is no such run (any more).", response);
  }
  if (open_pages_.fetch_add(1) >= most_pages_) {
    --open_pages_;
    response.set_header("Retry-After", "5");
    return refuse(503, "Too many pages are open. Close some, or try again later.", response);
  }
  const std::shared_ptr<void> page(nullptr, [this](void*) { --open_pages_; });
  response.set_content_provider("text/event-stream", [this, id, page, seen = std::string()](
                                                         size_t, httplib::DataSink& sink) mutable {
    const bool first = seen.empty();
    const std::string version = first ? board_.version(id) : board_.wait(id, seen, kHeartbeat);
    if (board_.stopped() || version.empty()) {
      if (!board_.stopped()) {
        const std::string gone = event_text("gone", "");
        sink.write(gone.data(), gone.size());
      }
      sink.done();
      return true;
    }
    std::string text = first ? "retry: 2000\n" : "";
    text += version == seen ? ": still here\n\n" : event_text("version", version);
    seen = version;
    return sink.write(text.data(), text.size());
  });
}

void LiveServer::run(const std::function<bool()>& should_stop) {
  const Ticker watch(kLookInterval, [this] {
    try {
      if (open_pages_ > 0) board_.look(kLookInterval / 2);
    } catch (const std::exception&) {
      // Such as too little memory: the next look may do better. A page that is asked for says it.
    }
  });
  auto listening = std::async(std::launch::async, [this] { return server_->listen_after_bind(); });
  while (!should_stop()) {
    if (listening.wait_for(kAskInterval) != std::future_status::ready) continue;
    fail(ErrorKind::io, "the server on port {} ended by itself; start it again", port_);
  }
  board_.stop();
  while (!server_->is_running() &&
         listening.wait_for(milliseconds(1)) != std::future_status::ready) {
  }
  server_->stop();
  do {
    end_connections(port_);
  } while (listening.wait_for(milliseconds(20)) != std::future_status::ready);
}

}  // namespace plimsoll::serve
