#include "diagnosis/circumstances.h"

#include <fmt/format.h>
#include <sys/klog.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>

#include "base/host.h"
#include "base/units.h"
#include "memory/usage.h"

namespace plimsoll::diagnosis {
namespace {

constexpr int kReadAll = 3;      // SYSLOG_ACTION_READ_ALL
constexpr int kBufferSize = 10;  // SYSLOG_ACTION_SIZE_BUFFER

// "<4>[30530.724110] text": returns the seconds and leaves the text in `line`.
double take_time(std::string_view& line) {
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || open > 4) return 0;
  std::string_view digits = line.substr(open + 1, close - open - 1);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  double seconds = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  line.remove_prefix(std::min(close + 2, line.size()));
  return seconds;
}

std::string between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t start = text.find(open);
  if (start == std::string_view::npos) return {};
  const size_t end = text.find(close, start + open.size());
  if (end == std::string_view::npos) return {};
  return std::string(text.substr(start + open.size(), end - start - open.size()));
}

// "Killed process 4711 (python) total-vm:9kB, anon-rss:8kB, ..."
KernelNote oom_note(std::string_view line, KernelNote::What what, double seconds) {
  KernelNote note{.what = what, .seconds_after_boot = seconds};
  note.process = between(line, "(", ")");
  if (const auto kib = leading_number(between(line, "anon-rss:", "kB"))) {
    note.resident = format_bytes(*kib * kKiB);
  }
  return note;
}

}  // namespace

std::vector<KernelNote> parse_kernel_log(std::string_view log) {
  std::vector<KernelNote> notes;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    const double seconds = take_time(line);
    if (line.starts_with("Memory cgroup out of memory: Kill")) {
      notes.push_back(oom_note(line, KernelNote::What::oom_in_group, seconds));
    } else if (line.starts_with("Out of memory: Kill")) {
      notes.push_back(oom_note(line, KernelNote::What::oom_on_host, seconds));
    } else if (line.find("]: segfault at ") != std::string_view::npos) {
      notes.push_back({.what = KernelNote::What::segfault,
                       .process = std::string(line.substr(0, line.find('['))),
                       .seconds_after_boot = seconds});
    }
  }
  return notes;
}

std::optional<std::string> read_kernel_log() {
  const int size = klogctl(kBufferSize, nullptr, 0);
  if (size <= 0) return {};
  std::string log(static_cast<size_t>(size), '\0');
  const int count = klogctl(kReadAll, log.data(), size);
  if (count < 0) return {};
  log.resize(static_cast<size_t>(count));
  return log;
}

namespace {

double leading_seconds(const std::string& text) {
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds;
}

const KernelNote* last_note(const Circumstances& now, bool oom) {
  const auto found = std::find_if(
      now.kernel_notes.rbegin(), now.kernel_notes.rend(),
      [&](const KernelNote& note) { return (note.what != KernelNote::What::segfault) == oom; });
  return found == now.kernel_notes.rend() ? nullptr : &*found;
}

std::string ago(const KernelNote& note, const Circumstances& now) {
  return format_seconds(std::max(now.seconds_since_boot - note.seconds_after_boot, 0.0)) + " ago";
}

}  // namespace

std::optional<Space> space_of(const std::filesystem::path& folder) {
  struct statvfs about {};
  if (statvfs(folder.c_str(), &about) != 0) return {};
  return Space{.total_bytes = about.f_blocks * about.f_frsize,
               .free_bytes = about.f_bavail * about.f_frsize,
               .free_files = about.f_files == 0 ? UINT64_MAX : about.f_favail};
}

Circumstances look_around(const Host& host) {
  Circumstances now;
  now.limit = memory::detect_limit(host);
  now.group = memory::cgroup_usage(host);
  const MemInfo machine = read_meminfo(host);
  now.available_bytes = machine.available_bytes;
  now.swap_bytes = machine.swap_bytes.value_or(0);
  now.oom_kills = oom_kills(host);
  now.seconds_since_boot = leading_seconds(read_text(host.root / "proc/uptime").value_or("0"));
  if (const auto log = read_kernel_log()) {
    now.kernel_log_readable = true;
    now.kernel_notes = parse_kernel_log(*log);
  }
  now.shared_memory = space_of(host.root / "dev/shm");
  now.disk = space_of(".");
  now.in_slurm = host.variable("SLURM_JOB_ID").has_value();
  return now;
}

std::string describe_memory(const Circumstances& now) {
  std::string text =
      fmt::format("memory limit {} ({})", format_bytes(now.limit.bytes), now.limit.winner);
  if (now.group && now.group->left_bytes() > 0) {
    text += fmt::format(", {} of it left",
                        format_bytes(static_cast<uint64_t>(now.group->left_bytes())));
  }
  if (now.available_bytes) {
    text += fmt::format(", {} of RAM available", format_bytes(*now.available_bytes));
  }
  return text;
}

std::string describe_oom_kills(const Circumstances& now) {
  if (!now.oom_kills) return "the kernel does not count OOM kills";
  std::string text = *now.oom_kills == 0 ? std::string("no OOM kill since boot")
                                         : fmt::format("{} OOM kill{} since boot", *now.oom_kills,
                                                       *now.oom_kills == 1 ? "" : "s");
  if (const KernelNote* note = last_note(now, true)) {
    text +=
        fmt::format(", the last in the kernel log: {}{} by {} {}", note->process,
                    note->resident.empty() ? "" : " (" + note->resident + ")",
                    note->what == KernelNote::What::oom_in_group ? "its group's limit" : "the host",
                    ago(*note, now));
  } else if (!now.kernel_log_readable) {
    text += "; the kernel log is not readable for this user";
  }
  return text;
}

std::string describe_segfaults(const Circumstances& now) {
  const KernelNote* note = last_note(now, false);
  if (note == nullptr) return {};
  return fmt::format("the last in the kernel log: {} {}", note->process, ago(*note, now));
}

std::string describe_shared_memory(const Circumstances& now) {
  if (!now.shared_memory) return "there is no /dev/shm";
  return fmt::format("/dev/shm has {} of {} free", format_bytes(now.shared_memory->free_bytes),
                     format_bytes(now.shared_memory->total_bytes));
}

std::string describe_disk(const Circumstances& now) {
  if (!now.disk) return {};
  return fmt::format("the disk of this folder has {} of {} free{}",
                     format_bytes(now.disk->free_bytes), format_bytes(now.disk->total_bytes),
                     now.disk->free_files < 1000 ? ", and hardly any inodes" : "");
}

std::string circumstance_of(Cause cause, const Circumstances& now) {
  switch (cause) {
    case Cause::own_memory_limit:
    case Cause::memory_refused:
      return describe_memory(now);
    case Cause::host_out_of_memory:
    case Cause::killed:
      return describe_memory(now) + "; " + describe_oom_kills(now);
    case Cause::segfault:
    case Cause::crashed:
      return describe_segfaults(now);
    case Cause::shared_memory_full:
      return describe_shared_memory(now);
    case Cause::disk_full:
      return describe_disk(now);
    default:
      return {};
  }
}

}  // namespace plimsoll::diagnosis
