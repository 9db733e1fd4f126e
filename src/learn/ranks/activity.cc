#include "ranks/activity.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace plimsoll::ranks {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kNanoseconds = 1'000'000'000;
// A thread that computes, or waits for a CPU, has nearly all of the time; one that only looks after
// something has a hundredth of it, even if it must wait for its CPU.
constexpr double kBusyShare = 0.25;
// The same for all threads together, if the kernel does not say how long they wait for a CPU.
constexpr double kBusyCpuShare = 0.02;

uint64_t clock_ns(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanoseconds + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

ActivityReading read_activity(const Host& host) {
  ActivityReading reading;
  const uint64_t own_thread = static_cast<uint64_t>(::gettid());
  std::error_code ended;  // a thread, while it is read
  for (const fs::directory_entry& entry :
       fs::directory_iterator(host.root / "proc/self/task", ended)) {
    const auto thread = leading_number(entry.path().filename().string());
    if (!thread || *thread == own_thread) continue;
    // "814120 3024 17": nanoseconds on a CPU, nanoseconds in the queue, how often it was on one.
    const std::string text = read_text(entry.path() / "schedstat").value_or("");
    const auto on_cpu = leading_number(text);
    const size_t blank = text.find(' ');
    if (!on_cpu || blank == std::string::npos) continue;
    reading.busy_ns[*thread] = *on_cpu + leading_number(text.substr(blank)).value_or(0);
  }
  reading.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    reading.faults = static_cast<uint64_t>(usage.ru_majflt);
  return reading;
}

bool ActivityJudge::active(const ActivityReading& now, Time time) {
  const auto before = std::exchange(before_, now);
  const double passed = std::chrono::duration<double, std::nano>(time - time_).count();
  time_ = time;
  if (!before || now.syncing || now.transfers != before->transfers ||
      now.faults != before->faults) {
    return true;
  }
  const auto share = [&](uint64_t from, uint64_t to) {
    return to <= from ? 0 : static_cast<double>(to - from) / passed;
  };
  if (now.busy_ns.empty()) return share(before->cpu_ns, now.cpu_ns) >= kBusyCpuShare;
  for (const auto& [thread, busy_ns] : now.busy_ns) {
    const auto same = before->busy_ns.find(thread);
    const uint64_t from = same == before->busy_ns.end() ? 0 : same->second;
    if (share(from, busy_ns) >= kBusyShare) return true;
  }
  return false;
}

}  // namespace plimsoll::ranks
