#include "diagnosis/circumstances.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "memory/usage.h"

namespace plimsoll::diagnosis {
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
  const std::string meminfo = read_text(host.root / "proc/meminfo").value_or("");
  if (const auto kib = number_of(meminfo, "MemAvailable:")) {
    now.available_bytes = *kib * kKiB;
  }
  now.swap_bytes = number_of(meminfo, "SwapTotal:").value_or(0) * kKiB;
  const std::string vmstat = read_text(host.root / "proc/vmstat").value_or("");
  now.oom_kills = number_of(vmstat, "oom_kill");
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
