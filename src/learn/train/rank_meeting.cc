#include "train/rank_meeting.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "base/fd.h"
#include "base/interrupt.h"

namespace plimsoll::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kConnectTime = std::chrono::seconds(2);  // between two looks for signals
constexpr auto kConnectAgain = milliseconds(100);
constexpr auto kLookAgain = milliseconds(20);

// The address of this host on the way to another; empty if it is unknown or loops back.
std::string address_towards(const std::string& host, uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), fmt::to_string(port).c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    // Connecting a datagram socket sends nothing; it only asks for the route.
    const Fd socket(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own = {};
    socklen_t length = sizeof own;
    std::array<char, NI_MAXHOST> name = {};
    if (!socket || ::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, name.data(), name.size(), nullptr,
                      0, NI_NUMERICHOST) != 0) {
      continue;
    }
    std::string address = name.data();
    if (!address.starts_with("127.") && address != "::1") return address;
  }
  return "";
}

// Says no to libuv, which torch 2.4 and later ask for even if they were built without it. Older
// ones have no such option.
template <typename Options>
void use_plain_sockets(Options& options) {
  if constexpr (requires { options.useLibUV = false; }) options.useLibUV = false;
}

std::string rank_key(unsigned rank) { return fmt::format("rank/{}", rank); }

[[noreturn]] void fail_missing(c10d::Store& store, const ranks::RankPlace& place) {
  std::string missing;
  for (unsigned rank = 0; rank < place.size; ++rank) {
    if (!store.check({rank_key(rank)})) missing += fmt::format(" {}", rank);
  }
  fail(ErrorKind::lost, "after {} seconds, these of {} ranks are not connected to {}:{}:{}",
       std::chrono::seconds(kJoinTime).count(), place.size, place.address, place.port, missing);
}

std::vector<ranks::RankProcess> wait_for_all(c10d::Store& store, const ranks::RankPlace& place) {
  std::vector<ranks::RankProcess> processes;
  const auto deadline = Clock::now() + kJoinTime;
  store.set(rank_key(place.rank), bytes_of(to_text(ranks::this_process())));
  for (unsigned rank = 0; rank < place.size; ++rank) {
    while (!store.check({rank_key(rank)})) {
      throw_if_interrupted();
      if (Clock::now() > deadline) fail_missing(store, place);
      std::this_thread::sleep_for(kLookAgain);
    }
    processes.push_back(ranks::parse_process(text_of(store.get(rank_key(rank)))));
  }
  return processes;
}

}  // namespace

std::string first_line(const char* what) {
  const std::string text = what;
  return text.substr(0, text.find('\n'));
}

c10::intrusive_ptr<c10d::Store> connect_store(const ranks::RankPlace& place, bool serve) {
  const auto deadline = Clock::now() + kJoinTime;
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = serve;
  options.waitWorkers = false;
  options.timeout = kConnectTime;
  use_plain_sockets(options);
  // c10d waits for the server by itself, but then no signal could end the wait.
  for (;;) {
    throw_if_interrupted();
    try {
      auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
      store->setTimeout(kJoinTime);
      return c10::make_intrusive<c10d::PrefixStore>("plimsoll/" + place.attempt, store);
    } catch (const std::exception& error) {
      if (serve) {
        fail(ErrorKind::io,
             "rank 0 cannot open {}:{} for the other ranks: {}; choose another MASTER_PORT",
             place.address, place.port, first_line(error.what()));
      }
      if (Clock::now() < deadline) {
        std::this_thread::sleep_for(kConnectAgain);
        continue;
      }
      fail(ErrorKind::lost, "rank {} cannot reach the meeting point {}:{} of the ranks: {}",
           place.rank, place.address, place.port, first_line(error.what()));
    }
  }
}

std::vector<ranks::RankProcess> meet(c10d::Store& store, const ranks::RankPlace& place) {
  try {
    return wait_for_all(store, place);
  } catch (const std::system_error& error) {
    fail(ErrorKind::lost, "the meeting point {}:{} of the ranks is gone: {}", place.address,
         place.port, error.what());
  } catch (const c10::Error& error) {
    fail(ErrorKind::lost, "the meeting point {}:{} of the ranks is gone: {}", place.address,
         place.port, first_line(error.what()));
  }
}

std::string own_address(const ranks::RankPlace& place,
                        const std::vector<ranks::RankProcess>& processes) {
  std::string address = address_towards(place.address, place.port);
  for (size_t i = 0; address.empty() && i < processes.size(); ++i) {
    address = address_towards(processes[i].host, place.port);
  }
  return address;
}

}  // namespace plimsoll::train
