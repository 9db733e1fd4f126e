#include "train/rank_group.h"

#include "base/error.h"

#ifdef PLIMSOLL_WITH_GLOO

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/fd.h"
#include "base/host.h"
#include "base/interrupt.h"
#include "ranks/beat.h"

namespace plimsoll::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kJoinTime = std::chrono::minutes(3);
constexpr auto kConnectTime = std::chrono::seconds(30);  // between two looks for signals
constexpr auto kBeatEvery = milliseconds(500);
constexpr auto kLookEvery = milliseconds(100);
// After a connection has failed: how long to wait until the beats say which rank is lost.
constexpr auto kBlameTime = std::chrono::seconds(9);
// The store is in rank 0's process. It does not answer while that process is stopped.
constexpr auto kStoreSilence = std::chrono::seconds(8);
// How long rank 0 keeps the store for ranks that have not read yet why the run ends.
constexpr auto kLinger = std::chrono::seconds(3);
// c10d's own limit. The beats find a lost rank long before.
constexpr auto kOperationTime = std::chrono::hours(24 * 7);
constexpr const char* kEnd = "end";
constexpr const char* kSeen = "seen";
constexpr const char* kTold = "told";  // in the first line of the end, behind the rank

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string first_line(const char* what) {
  const std::string text = what;
  return text.substr(0, text.find('\n'));
}

// The kernel's count of processes that it killed for lack of memory.
uint64_t killed_for_memory() {
  return number_of(read_text("/proc/vmstat").value_or(""), "oom_kill").value_or(0);
}

// The address of this host on the way to the meeting point; empty if it is unknown or loops back.
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
    const std::string address = name.data();
    if (!address.starts_with("127.") && address != "::1") return address;
  }
  return "";
}

}  // namespace

class RankGroup::Connections {
 public:
  Connections(const ranks::RankPlace& place, milliseconds no_progress);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() {
    stop_heart();
    gloo.reset();  // its threads use the rest
  }

  // Starts an operation of Gloo and waits for it.
  template <typename Start>
  void run(const Start& start);
  std::vector<std::string> exchange(const std::string& mine);
  bool give_up(const std::string& why) noexcept;
  void leave();
  void abandon() noexcept;
  void count_progress() {
    ++progress_;
    at_work_ = true;
  }
  bool lost() const {
    const std::lock_guard lock(mutex_);
    return lost_.has_value();
  }
  bool first_is_lost() const {
    const std::lock_guard lock(mutex_);
    return lost_ && lost_->rank == 0 && !lost_->told;
  }

  const ranks::RankPlace place;
  std::vector<ranks::RankProcess> processes;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;

 private:
  struct Lost {
    unsigned rank = 0;
    std::string cause;
    bool told = false;  // by the rank itself, before it ended
  };
  c10::intrusive_ptr<c10d::Store> connect(bool serve) const;
  void meet();
  std::shared_ptr<::gloo::transport::Device> make_device() const;
  void watch_processes();
  void beat(const std::stop_token& stopping);
  void stop_heart();
  void beat_once(ranks::BeatJudge& next);
  bool read_end();
  // Makes this the reason why the run ends, unless there is one already.
  bool announce(const Lost& lost);
  void wait_for_readers() noexcept;
  void lose(const Lost& lost);
  [[noreturn]] void throw_lost() const;
  void await(const std::shared_ptr<std::atomic<bool>>& done);
  std::string name_of(unsigned rank) const;
  std::string gone_without_a_word() const;

  const milliseconds no_progress_;
  c10::intrusive_ptr<c10d::Store> store_;        // of the training thread
  c10::intrusive_ptr<c10d::Store> heart_store_;  // of the beating thread
  struct Neighbour {
    unsigned rank = 0;
    Fd handle;  // a pidfd: readable when the process has ended
  };
  std::vector<Neighbour> neighbours_;  // on this host
  const uint64_t killed_before_ = killed_for_memory();
  std::atomic<uint64_t> progress_ = 0;
  std::atomic<bool> waiting_ = false;
  std::atomic<bool> at_work_ = false;
  std::atomic<bool> suspicious_ = false;
  const Fd wake_{::eventfd(0, EFD_CLOEXEC)};  // readable when the beating thread should end
  uint64_t beats_ = 0;                        // of the beating thread, like the next one
  bool seen_ = false;                         // the store knows that this rank has read the end

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<Lost> lost_;
  bool left_ = false;
  Clock::time_point store_answered_ = Clock::now();

  std::jthread heart_;  // declared last: it uses all of the above
};

RankGroup::Connections::Connections(const ranks::RankPlace& where, milliseconds no_progress)
    : place(where), no_progress_(no_progress) {
  const bool serves = place.rank == 0 && !place.agent_serves;
  store_ = connect(serves);
  heart_store_ = connect(false);
  try {
    meet();
  } catch (const std::system_error& error) {
    fail(ErrorKind::lost, "the meeting point {}:{} of the ranks is gone: {}", place.address,
         place.port, error.what());
  } catch (const c10::Error& error) {
    fail(ErrorKind::lost, "the meeting point {}:{} of the ranks is gone: {}", place.address,
         place.port, first_line(error.what()));
  }
  auto options = c10d::ProcessGroupGloo::Options::create(kJoinTime);
  options->devices = {make_device()};
  options->threads = 1;
  try {
    gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", store_), static_cast<int>(place.rank),
        static_cast<int>(place.size), options);
  } catch (const std::exception& error) {
    fail(ErrorKind::lost, "{} cannot connect to the other ranks: {}", name_of(place.rank),
         first_line(error.what()));
  }
  watch_processes();
  heart_ = std::jthread([this](const std::stop_token& stopping) { beat(stopping); });
}

// Before *this is left behind after a loss.
void RankGroup::Connections::abandon() noexcept {
  wait_for_readers();
  heart_.request_stop();
}

c10::intrusive_ptr<c10d::Store> RankGroup::Connections::connect(bool serve) const {
  const auto deadline = Clock::now() + kJoinTime;
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = serve;
  options.waitWorkers = false;
  options.timeout = kConnectTime;
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
        std::this_thread::sleep_for(kLookEvery);
        continue;
      }
      fail(ErrorKind::lost, "rank {} does not reach the meeting point {}:{} of the ranks: {}",
           place.rank, place.address, place.port, first_line(error.what()));
    }
  }
}

// Every rank says who it is and waits for the others.
void RankGroup::Connections::meet() {
  const auto key = [](unsigned rank) { return fmt::format("rank/{}", rank); };
  const auto deadline = Clock::now() + kJoinTime;
  store_->set(key(place.rank), bytes_of(to_text(ranks::this_process())));
  for (unsigned rank = 0; rank < place.size; ++rank) {
    while (!store_->check({key(rank)})) {
      throw_if_interrupted();
      if (Clock::now() > deadline) {
        std::string missing;
        for (unsigned other = 0; other < place.size; ++other) {
          if (!store_->check({key(other)})) missing += fmt::format(" {}", other);
        }
        fail(ErrorKind::lost, "after {} seconds, these of {} ranks have not come to {}:{}:{}",
             std::chrono::seconds(kJoinTime).count(), place.size, place.address, place.port,
             missing);
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
    processes.push_back(ranks::parse_process(text_of(store_->get(key(rank)))));
  }
}

std::shared_ptr<::gloo::transport::Device> RankGroup::Connections::make_device() const {
  if (ranks::ranks_of_host(processes, place.rank).size() == place.size) {
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  if (const char* const name = std::getenv("GLOO_SOCKET_IFNAME")) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(name);
  }
  std::string address = address_towards(place.address, place.port);
  for (size_t i = 0; address.empty() && i < processes.size(); ++i) {
    address = address_towards(processes[i].host, place.port);
  }
  return address.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                         : c10d::ProcessGroupGloo::createDeviceForHostname(address);
}

void RankGroup::Connections::watch_processes() {
  for (const unsigned rank : ranks::ranks_of_host(processes, place.rank)) {
    if (rank == place.rank) continue;
    Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, processes[rank].pid, 0)));
    if (handle) neighbours_.push_back({rank, std::move(handle)});
  }
}

std::string RankGroup::Connections::name_of(unsigned rank) const {
  if (rank >= processes.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} on {} (process {})", rank, processes[rank].host, processes[rank].pid);
}

std::string RankGroup::Connections::gone_without_a_word() const {
  const bool memory = killed_for_memory() > killed_before_;
  return memory ? "it ended without a word; the kernel has killed a process for lack of memory "
                  "meanwhile"
                : "it ended without a word: it was killed";
}

// The beating thread.
void RankGroup::Connections::beat(const std::stop_token& stopping) {
  // Each rank watches the next one, and its neighbours' processes.
  ranks::BeatJudge next({.no_progress = no_progress_}, Clock::now());
  std::vector<pollfd> handles;
  for (const Neighbour& one : neighbours_) handles.push_back({one.handle.get(), POLLIN, 0});
  handles.push_back({wake_.get(), POLLIN, 0});
  while (!stopping.stop_requested()) {
    try {
      beat_once(next);
      const std::lock_guard lock(mutex_);
      store_answered_ = Clock::now();
      if (lost_) return;
    } catch (const std::exception&) {
      if (stopping.stop_requested()) return;
      lose({0,
            place.agent_serves ? "the store of torchrun's agent is gone" : gone_without_a_word()});
      return;
    }
    // Wakes up at once if a process on this host ends.
    ::poll(handles.data(), handles.size(), static_cast<int>(kBeatEvery.count()));
    for (size_t i = 0; i < neighbours_.size(); ++i) {
      if (handles[i].revents == 0 || stopping.stop_requested()) continue;
      try {
        if (!read_end()) announce({neighbours_[i].rank, gone_without_a_word()});
      } catch (const std::exception&) {
        lose({neighbours_[i].rank, gone_without_a_word()});
      }
    }
  }
}

void RankGroup::Connections::stop_heart() {
  if (!heart_.joinable()) return;
  heart_.request_stop();
  const uint64_t one = 1;
  // It cannot fail, and if it did, the thread would end half a second later.
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  heart_.join();
}

void RankGroup::Connections::beat_once(ranks::BeatJudge& next) {
  const auto key = [](unsigned rank) { return fmt::format("beat/{}", rank); };
  const ranks::Beat own = {++beats_, progress_, waiting_ || !at_work_};
  heart_store_->set(key(place.rank), bytes_of(to_text(own)));
  if (read_end()) return;
  const unsigned watched = (place.rank + 1) % place.size;
  std::optional<ranks::Beat> beat;
  if (heart_store_->check({key(watched)})) {
    beat = ranks::parse_beat(text_of(heart_store_->get(key(watched))));
  }
  if (const auto why = next.judge(beat, Clock::now(), suspicious_)) announce({watched, *why});
}

// Whether the run ends. Called by the beating thread.
bool RankGroup::Connections::read_end() {
  if (!heart_store_->check({kEnd})) return false;
  const std::string text = text_of(heart_store_->get(kEnd));
  if (place.rank != 0 && !std::exchange(seen_, true)) heart_store_->add(kSeen, 1);
  lose({.rank = static_cast<unsigned>(std::atoi(text.c_str())),
        .cause = text.substr(text.find('\n') + 1),
        .told = text.find(kTold) < text.find('\n')});
  return true;
}

bool RankGroup::Connections::announce(const Lost& lost) {
  const std::string mine = fmt::format("{}\n{}", lost.rank, lost.cause);
  const std::string first = text_of(heart_store_->compareSet(kEnd, {}, bytes_of(mine)));
  read_end();
  return first == mine;
}

void RankGroup::Connections::lose(const Lost& lost) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = lost;
  changed_.notify_all();
}

void RankGroup::Connections::throw_lost() const {
  const std::lock_guard lock(mutex_);
  fail(ErrorKind::lost, "{} {}: {}", name_of(lost_->rank), lost_->told ? "has failed" : "is lost",
       lost_->cause);
}

// Waits for an operation; throws Error{lost} if a rank is lost before.
void RankGroup::Connections::await(const std::shared_ptr<std::atomic<bool>>& done) {
  std::unique_lock lock(mutex_);
  while (!done->load()) {
    if (lost_) break;
    if (Clock::now() - store_answered_ > kStoreSilence) {
      lost_ = {0, place.agent_serves ? "the store of torchrun's agent does not answer"
                                     : "it does not answer: it was stopped, or its host was lost"};
      break;
    }
    changed_.wait_for(lock, kLookEvery);
  }
  if (done->load()) return;
  lock.unlock();
  throw_lost();
}

template <typename Start>
void RankGroup::Connections::run(const Start& start) {
  waiting_ = true;
  const auto done = std::make_shared<std::atomic<bool>>(false);
  try {
    const auto work = start();
    // The callback may come after this has left because of a loss; *this lives until then, or is
    // left behind.
    work->getFuture()->addCallback([this, done](const auto& /*future*/) {
      const std::lock_guard lock(mutex_);
      done->store(true);
      changed_.notify_all();
    });
    await(done);
    work->wait();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    // A connection failed. The beats will tell which rank is lost.
    suspicious_ = true;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kBlameTime, [&] { return lost_.has_value(); });
    if (!lost_) {
      lost_ = {(place.rank + 1) % place.size,
               fmt::format("a connection failed: {}", first_line(error.what()))};
    }
    lock.unlock();
    throw_lost();
  }
  waiting_ = false;
  ++progress_;
}

std::vector<std::string> RankGroup::Connections::exchange(const std::string& mine) {
  const auto gather = [&](at::Tensor own) {
    std::vector<std::vector<at::Tensor>> all(1);
    for (unsigned rank = 0; rank < place.size; ++rank) all[0].push_back(at::empty_like(own));
    std::vector<at::Tensor> input = {std::move(own)};
    run([&] {
      c10d::AllgatherOptions options;
      options.timeout = kOperationTime;
      return gloo->allgather(all, input, options);
    });
    return all[0];
  };
  at::Tensor length = at::empty({1}, at::kLong);
  *length.data_ptr<int64_t>() = static_cast<int64_t>(mine.size());
  const std::vector<at::Tensor> lengths = gather(length);
  int64_t longest = 1;
  for (const at::Tensor& one : lengths) longest = std::max(longest, *one.data_ptr<int64_t>());
  const at::Tensor text = at::zeros({longest}, at::kByte);
  std::memcpy(text.data_ptr(), mine.data(), mine.size());
  std::vector<std::string> all;
  for (const at::Tensor& one : gather(text)) {
    const auto size = static_cast<size_t>(*lengths[all.size()].data_ptr<int64_t>());
    all.emplace_back(static_cast<const char*>(one.data_ptr()), size);
  }
  return all;
}

bool RankGroup::Connections::give_up(const std::string& why) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (lost_ || left_) return false;
    }
    const std::string mine = fmt::format("{} {}\n{}", place.rank, kTold, why);
    const std::string first = text_of(store_->compareSet(kEnd, {}, bytes_of(mine)));
    if (first == mine) lose({place.rank, why, true});
    return first == mine;
  } catch (const std::exception&) {
    return false;  // the store is gone, and with it the run
  }
}

// The store is in rank 0's process: it stays until the others have read why the run ends.
void RankGroup::Connections::wait_for_readers() noexcept {
  if (place.rank != 0 || place.agent_serves) return;
  try {
    const auto deadline = Clock::now() + kLinger;
    unsigned unable = 1;  // this rank, and the lost one
    {
      const std::lock_guard lock(mutex_);
      if (lost_->rank != 0) ++unable;
    }
    while (store_->add(kSeen, 0) + unable < static_cast<int64_t>(place.size) &&
           Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  } catch (const std::exception&) {
  }
}

void RankGroup::Connections::leave() {
  // No rank may be taken for lost because it has ended a moment before another.
  exchange("");
  stop_heart();
  exchange("");
  const std::lock_guard lock(mutex_);
  left_ = true;
}

RankGroup::RankGroup(const ranks::RankPlace& place, milliseconds no_progress)
    : connections_(std::make_unique<Connections>(place, no_progress)) {}

RankGroup::~RankGroup() {
  if (!connections_->lost()) return;
  connections_->abandon();
  // The beating thread and an operation of Gloo may still use it.
  static_cast<void>(connections_.release());  // NOLINT(bugprone-unused-return-value)
}

const ranks::RankPlace& RankGroup::place() const { return connections_->place; }
const std::vector<ranks::RankProcess>& RankGroup::processes() const {
  return connections_->processes;
}
std::vector<std::string> RankGroup::exchange(const std::string& mine) {
  return connections_->exchange(mine);
}
bool RankGroup::give_up(const std::string& why) noexcept { return connections_->give_up(why); }
void RankGroup::leave() { connections_->leave(); }
bool RankGroup::first_is_lost() const { return connections_->first_is_lost(); }
void RankGroup::progress() { connections_->count_progress(); }

void RankGroup::sum(at::Tensor& values) {
  std::vector<at::Tensor> tensors = {values};
  connections_->run([&] {
    c10d::AllreduceOptions options;
    options.timeout = kOperationTime;
    return connections_->gloo->allreduce(tensors, options);
  });
}

void RankGroup::broadcast(at::Tensor& values, unsigned from) {
  std::vector<at::Tensor> tensors = {values};
  connections_->run([&] {
    c10d::BroadcastOptions options;
    options.rootRank = from;
    options.timeout = kOperationTime;
    return connections_->gloo->broadcast(tensors, options);
  });
}

}  // namespace plimsoll::train

#else

namespace plimsoll::train {
namespace {

[[noreturn]] void fail_without_gloo() {
  fail(
      ErrorKind::usage,
      "this plimsoll was built without Gloo and cannot train on several ranks; install its headers "
      "(Debian: libgloo-dev) and build again");
}

}  // namespace

class RankGroup::Connections {};
RankGroup::RankGroup(const ranks::RankPlace& /*place*/, std::chrono::milliseconds /*no_progress*/) {
  fail_without_gloo();
}
RankGroup::~RankGroup() = default;
const ranks::RankPlace& RankGroup::place() const { fail_without_gloo(); }
const std::vector<ranks::RankProcess>& RankGroup::processes() const { fail_without_gloo(); }
std::vector<std::string> RankGroup::exchange(const std::string& /*mine*/) { fail_without_gloo(); }
bool RankGroup::give_up(const std::string& /*why*/) noexcept { return false; }
void RankGroup::leave() { fail_without_gloo(); }
bool RankGroup::first_is_lost() const { return false; }
void RankGroup::sum(at::Tensor& /*values*/) { fail_without_gloo(); }
void RankGroup::broadcast(at::Tensor& /*values*/, unsigned /*from*/) { fail_without_gloo(); }
void RankGroup::progress() {}

}  // namespace plimsoll::train

#endif
