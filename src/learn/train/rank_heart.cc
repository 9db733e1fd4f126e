#include "train/rank_heart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "io/transfers.h"
#include "train/rank_meeting.h"

namespace plimsoll::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kBeatEvery = milliseconds(500);
constexpr auto kLookEvery = milliseconds(100);
// After a connection has failed: how long to wait until the beats say which rank is lost.
constexpr auto kBlameTime = std::chrono::seconds(9);
// The store is in rank 0's process. It does not answer while that process is stopped.
constexpr auto kStoreSilence = std::chrono::seconds(6);
// A wait of kLookEvery that takes this long: the process was asleep, for example because Slurm had
// suspended its job.
constexpr auto kAsleep = std::chrono::seconds(1);
// How long a rank may take to end by itself after it knows that another is lost.
constexpr auto kEndTime = std::chrono::seconds(1);
// How long rank 0 keeps the store for ranks that have not read yet why the run ends.
constexpr auto kLinger = std::chrono::seconds(3);
constexpr const char* kEnd = "end";
constexpr const char* kSeen = "seen";
constexpr const char* kTold = "told";  // in the first line of the end, behind the rank

std::string beat_key(unsigned rank) { return fmt::format("beat/{}", rank); }

}  // namespace

RankHeart::RankHeart(ranks::RankPlace place, std::vector<ranks::RankProcess> processes,
                     RankStores stores, ranks::GroupOptions options)
    : place_(std::move(place)),
      processes_(std::move(processes)),
      stores_(std::move(stores)),
      options_(std::move(options)),
      killed_before_(oom_kills().value_or(0)),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
  watch_processes();
  thread_ = std::jthread([this](const std::stop_token& stopping) { beat(stopping); });
}

void RankHeart::watch_processes() {
  for (const unsigned rank : ranks::ranks_of_host(processes_, place_.rank)) {
    if (rank == place_.rank) continue;
    Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, processes_[rank].pid, 0)));
    if (handle) neighbours_.push_back({rank, std::move(handle)});
  }
}

void RankHeart::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const uint64_t one = 1;
  // It cannot fail, and if it did, the thread would end half a second later.
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void RankHeart::abandon() noexcept { wait_for_readers(); }

void RankHeart::count_progress() {
  ++progress_;
  at_work_ = true;
  if (lost()) throw_lost();
}

bool RankHeart::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_.has_value();
}

bool RankHeart::first_is_lost() const {
  const std::lock_guard lock(mutex_);
  return lost_ && lost_->rank == 0 && !lost_->told;
}

std::string RankHeart::name_of(unsigned rank) const {
  if (rank >= processes_.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} on {} (process {})", rank, processes_[rank].host,
                     processes_[rank].pid);
}

std::string RankHeart::gone_without_a_word() const {
  const bool memory = oom_kills().value_or(0) > killed_before_;
  return memory ? "it ended without a word; the kernel has killed a process for lack of memory "
                  "meanwhile"
                : "it ended without a word: it was killed";
}

// The beating thread.
void RankHeart::beat(const std::stop_token& stopping) {
  // Each rank watches the next one, and its neighbours' processes.
  ::pthread_setname_np(::pthread_self(), "heart");
  ranks::BeatJudge next(options_.limits, Clock::now());
  std::vector<pollfd> handles;
  for (const Neighbour& one : neighbours_) handles.push_back({one.handle.get(), POLLIN, 0});
  handles.push_back({wake_.get(), POLLIN, 0});
  while (!stopping.stop_requested()) {
    try {
      beat_once(next);
      const std::lock_guard lock(mutex_);
      store_answered_ = Clock::now();
      if (lost_) break;
    } catch (const std::exception&) {
      if (stopping.stop_requested()) return;
      lose({0,
            place_.agent_serves ? "the store of torchrun's agent is gone" : gone_without_a_word()});
      break;
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
  await_end(stopping);
}

bool RankHeart::is_active() {
  ranks::ActivityReading now = ranks::read_activity();
  const io::Transfers transfers = io::transfers_so_far();
  now.transfers = transfers.ended;
  now.syncing = transfers.syncing > 0;
  return own_activity_.active(now, Clock::now());
}

// A training thread that waits looks up often. One that a debugger holds does not.
bool RankHeart::is_waiting() {
  const uint64_t looks = looks_;
  return std::exchange(seen_looks_, looks) != looks && waiting_;
}

// After a loss the process should end soon. If its training thread hangs or is busy, it is ended
// here. Rank 0 may finish its batch and write a checkpoint, as long as it does something.
void RankHeart::await_end(const std::stop_token& stopping) {
  if (!options_.end_process || stopping.stop_requested()) return;
  {
    const std::lock_guard lock(mutex_);
    if (lost_->rank == place_.rank && lost_->told) return;  // it ends by itself, and says why
  }
  auto still_since = Clock::now();
  const auto patience = place_.rank == 0 && at_work_ ? ranks::kStandstill : milliseconds(kEndTime);
  while (Clock::now() - still_since < patience) {
    pollfd wake = {wake_.get(), POLLIN, 0};
    if (::poll(&wake, 1, static_cast<int>(kBeatEvery.count())) > 0) return;
    if (place_.rank == 0 && at_work_ && is_active()) still_since = Clock::now();
  }
  options_.end_process(reason(), place_.rank == (first_is_lost() ? 1U : 0U));
}

void RankHeart::beat_once(ranks::BeatJudge& next) {
  c10d::Store& store = *stores_.beating;
  if (is_active()) ++activity_;
  const ranks::Beat own = {.count = ++beats_,
                           .progress = progress_,
                           .activity = activity_,
                           .doing = is_waiting() ? ranks::Doing::waiting
                                    : at_work_   ? ranks::Doing::working
                                                 : ranks::Doing::preparing};
  store.set(beat_key(place_.rank), bytes_of(to_text(own)));
  if (read_end()) return;
  const unsigned watched = (place_.rank + 1) % place_.size;
  std::optional<ranks::Beat> beat;
  if (store.check({beat_key(watched)})) {
    beat = ranks::parse_beat(text_of(store.get(beat_key(watched))));
  }
  if (const auto why = next.judge(beat, Clock::now(), suspicious_)) announce({watched, *why});
}

// Whether the run ends. Called by the beating thread.
bool RankHeart::read_end() {
  c10d::Store& store = *stores_.beating;
  if (!store.check({kEnd})) return false;
  const std::string text = text_of(store.get(kEnd));
  if (place_.rank != 0 && !std::exchange(seen_, true)) store.add(kSeen, 1);
  unsigned rank = 0;
  std::from_chars(text.data(), text.data() + text.size(), rank);
  lose({.rank = rank,
        .cause = text.substr(text.find('\n') + 1),
        .told = text.find(kTold) < text.find('\n')});
  return true;
}

bool RankHeart::announce(const Lost& lost) {
  const std::string mine = fmt::format("{}\n{}", lost.rank, lost.cause);
  const std::string first = text_of(stores_.beating->compareSet(kEnd, {}, bytes_of(mine)));
  read_end();
  return first == mine;
}

void RankHeart::lose(const Lost& lost) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = lost;
  changed_.notify_all();
}

std::string RankHeart::reason() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("{} {}: {}", name_of(lost_->rank), lost_->told ? "has failed" : "is lost",
                     lost_->cause);
}

void RankHeart::throw_lost() const { fail(ErrorKind::lost, "{}", reason()); }

bool RankHeart::give_up(const std::string& why) noexcept {
  try {
    if (lost()) return false;
    const std::string mine = fmt::format("{} {}\n{}", place_.rank, kTold, why);
    const std::string first = text_of(stores_.training->compareSet(kEnd, {}, bytes_of(mine)));
    if (first == mine) lose({place_.rank, why, true});
    return first == mine;
  } catch (const std::exception&) {
    return false;  // the store is gone, and with it the run
  }
}

// The store is in rank 0's process: it stays until the others have read why the run ends.
void RankHeart::wait_for_readers() noexcept {
  if (place_.rank != 0 || place_.agent_serves) return;
  try {
    const auto deadline = Clock::now() + kLinger;
    unsigned unable = 1;  // this rank, and the lost one
    {
      const std::lock_guard lock(mutex_);
      if (lost_->rank != 0) ++unable;
    }
    while (stores_.training->add(kSeen, 0) + unable < static_cast<int64_t>(place_.size) &&
           Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  } catch (const std::exception&) {
  }
}

void RankHeart::finished(const Done& done) {
  const std::lock_guard lock(mutex_);
  done->store(true);
  changed_.notify_all();
}

void RankHeart::await(const Done& done) {
  std::unique_lock lock(mutex_);
  Clock::duration waited{0};
  while (!done->load()) {
    if (lost_) break;
    if (waited > kAsleep && Clock::now() - store_answered_ > kStoreSilence) {
      lost_ = {0, place_.agent_serves ? "the store of torchrun's agent does not answer"
                                      : "it does not answer: it was stopped, or its host was lost"};
      break;
    }
    const auto before = Clock::now();
    ++looks_;
    changed_.wait_for(lock, kLookEvery);
    const auto took = Clock::now() - before;
    if (took > kAsleep) {
      store_answered_ += took;
    } else {
      waited += took;
    }
  }
  if (done->load()) return;
  lock.unlock();
  throw_lost();
}

void RankHeart::end_operation() {
  waiting_ = false;
  ++progress_;
}

void RankHeart::fail_lost(const std::string& failure) {
  suspicious_ = true;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kBlameTime, [&] { return lost_.has_value(); });
  if (!lost_) {
    lost_ = {(place_.rank + 1) % place_.size, fmt::format("a connection failed: {}", failure)};
  }
  lock.unlock();
  throw_lost();
}

}  // namespace plimsoll::train
