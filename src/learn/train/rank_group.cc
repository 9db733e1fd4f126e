#include "train/rank_group.h"

#include "base/error.h"

#ifdef PLIMSOLL_WITH_GLOO

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "train/rank_heart.h"
#include "train/rank_meeting.h"

namespace plimsoll::train {
namespace {

// c10d's own limit. The beats find a lost rank long before.
constexpr auto kOperationTime = std::chrono::hours(24 * 7);

std::shared_ptr<::gloo::transport::Device> make_device(
    const ranks::RankPlace& place, const std::vector<ranks::RankProcess>& processes) {
  using c10d::ProcessGroupGloo;
  if (ranks::ranks_of_host(processes, place.rank).size() == place.size) {
    return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  if (const char* const name = std::getenv("GLOO_SOCKET_IFNAME")) {
    return ProcessGroupGloo::createDeviceForInterface(name);
  }
  const std::string address = own_address(place, processes);
  return address.empty() ? ProcessGroupGloo::createDefaultDevice()
                         : ProcessGroupGloo::createDeviceForHostname(address);
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> connect_gloo(
    const ranks::RankPlace& place, const std::vector<ranks::RankProcess>& processes,
    const c10::intrusive_ptr<c10d::Store>& store) {
  auto options = c10d::ProcessGroupGloo::Options::create(kJoinTime);
  options->devices = {make_device(place, processes)};
  options->threads = 1;
  try {
    return c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", store), static_cast<int>(place.rank),
        static_cast<int>(place.size), options);
  } catch (const std::exception& error) {
    const ranks::RankProcess& own = processes.at(place.rank);
    fail(ErrorKind::lost, "rank {} on {} (process {}) cannot connect to the other ranks: {}",
         place.rank, own.host, own.pid, first_line(error.what()));
  }
}

}  // namespace

class RankGroup::Connections {
 public:
  Connections(ranks::RankPlace where, const ranks::GroupOptions& options)
      : place(std::move(where)),
        stores{connect_store(place, place.rank == 0 && !place.agent_serves),
               connect_store(place, false)},
        processes(meet(*stores.training, place)),
        heart(place, processes, stores, options),
        gloo(connect_gloo(place, processes, stores.training)) {}
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() {
    heart.stop();
    gloo.reset();  // its threads use the rest
  }

  // Starts an operation of Gloo and waits for it.
  template <typename Start>
  void run(const Start& start);
  std::vector<at::Tensor> gather(at::Tensor own);

  const ranks::RankPlace place;
  const RankStores stores;
  const std::vector<ranks::RankProcess> processes;
  RankHeart heart;  // before Gloo, which cannot be interrupted while it connects
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  bool left = false;
};

template <typename Start>
void RankGroup::Connections::run(const Start& start) {
  heart.begin_operation();
  const auto done = std::make_shared<std::atomic<bool>>(false);
  try {
    const auto work = start();
    // The callback may come after this has left because of a loss; *this lives until then, or is
    // left behind.
    work->getFuture()->addCallback([this, done](const auto& /*future*/) { heart.finished(done); });
    heart.await(done);
    work->wait();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    heart.fail_lost(first_line(error.what()));
  }
  heart.end_operation();
}

// The tensors of all ranks, by rank; all have the same size.
std::vector<at::Tensor> RankGroup::Connections::gather(at::Tensor own) {
  std::vector<std::vector<at::Tensor>> all(1);
  for (unsigned rank = 0; rank < place.size; ++rank) all[0].push_back(at::empty_like(own));
  std::vector<at::Tensor> input = {std::move(own)};
  run([&] {
    c10d::AllgatherOptions options;
    options.timeout = kOperationTime;
    return gloo->allgather(all, input, options);
  });
  return all[0];
}

RankGroup::RankGroup(const ranks::RankPlace& place, const ranks::GroupOptions& options)
    : connections_(std::make_unique<Connections>(place, options)) {}

RankGroup::~RankGroup() {
  if (!connections_->heart.lost()) return;
  connections_->heart.abandon();
  // The beating thread and an operation of Gloo may still use it.
  static_cast<void>(connections_.release());  // NOLINT(bugprone-unused-return-value)
}

const ranks::RankPlace& RankGroup::place() const { return connections_->place; }
const std::vector<ranks::RankProcess>& RankGroup::processes() const {
  return connections_->processes;
}
void RankGroup::progress() { connections_->heart.count_progress(); }
bool RankGroup::first_is_lost() const { return connections_->heart.first_is_lost(); }

bool RankGroup::give_up(const std::string& why) noexcept {
  return !connections_->left && connections_->heart.give_up(why);
}

std::vector<std::string> RankGroup::exchange(const std::string& mine) {
  at::Tensor length = at::empty({1}, at::kLong);
  *length.data_ptr<int64_t>() = static_cast<int64_t>(mine.size());
  const std::vector<at::Tensor> lengths = connections_->gather(length);
  int64_t longest = 1;
  for (const at::Tensor& one : lengths) longest = std::max(longest, *one.data_ptr<int64_t>());
  const at::Tensor text = at::zeros({longest}, at::kByte);
  std::memcpy(text.data_ptr(), mine.data(), mine.size());
  std::vector<std::string> all;
  for (const at::Tensor& one : connections_->gather(text)) {
    const auto size = static_cast<size_t>(*lengths[all.size()].data_ptr<int64_t>());
    all.emplace_back(static_cast<const char*>(one.data_ptr()), size);
  }
  return all;
}

void RankGroup::leave() {
  // No rank may be taken for lost because it has ended a moment before another.
  exchange("");
  connections_->heart.stop();
  exchange("");
  connections_->left = true;
}

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
RankGroup::RankGroup(const ranks::RankPlace& /*place*/, const ranks::GroupOptions& /*options*/) {
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
