#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/units.h"
#include "diagnosis/case.h"
#include "diagnosis/explain.h"
#include "diagnosis/log_signs.h"

namespace plimsoll::diagnosis {
namespace {

std::vector<std::string> words_of(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& argument : command) {
    std::istringstream parts(argument);
    for (std::string word; parts >> word;) words.push_back(word);
  }
  return words;
}

bool names_a_batch_size(std::string_view option) {
  for (const std::string_view ending : {"batch-size", "batch_size", "batchsize", "--bs"}) {
    if (option.ends_with(ending)) return true;
  }
  return option == "-b";
}

std::optional<uint64_t> batch_size(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value > 1 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string smaller_batch(const std::vector<std::string>& command) {
  const std::vector<std::string> words = words_of(command);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t equal = word.find('=');
    const bool joined = equal != std::string::npos;
    if (!names_a_batch_size(word.substr(0, equal))) continue;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const auto size = batch_size(joined ? std::string_view(word).substr(equal + 1) : next);
    if (!size) continue;
    return fmt::format("{}{}{} instead of {}", word.substr(0, equal), joined ? "=" : " ", *size / 2,
                       *size);
  }
  return "--batch-size at half its value";
}

std::optional<std::string> larger_memory(uint64_t bytes, std::optional<uint64_t> most_bytes) {
  const uint64_t more = bytes + bytes / 2;
  if (most_bytes && more > *most_bytes) return {};
  return rounded_up(more);
}

std::string rounded_up(uint64_t bytes) {
  if (bytes < 4 * kGiB) return fmt::format("{}M", (bytes + kMiB - 1) / kMiB);
  return fmt::format("{}G", (bytes + kGiB - 1) / kGiB);
}

namespace {

constexpr uint64_t kLargeShare = 4;  // a quarter of a GPU
// Less than this is held by a driver or a desktop, not by another job.
constexpr uint64_t kNeighbourBytes = 256 * kMiB;

std::string largest_process(const Case& end) {
  const auto& memory = end.memory();
  // The sample is from shortly before the end. If memory grew fast, the largest sampled process is
  // not the one that took the memory.
  const bool is_it = 2 * memory.largest_process_bytes >= memory.peak_bytes.value_or(0);
  if (memory.largest_process.empty() || !is_it) return {};
  return fmt::format("largest process {} ({})", memory.largest_process,
                     format_bytes(memory.largest_process_bytes));
}

std::string less_or_more(const Case& end) {
  std::string text = smaller_batch(end.ending().command);
  if (end.memory().limit_bytes) {
    const auto more = larger_memory(*end.memory().limit_bytes, end.known.machine_limit_bytes);
    if (more) text += ", or --memory " + *more;
  }
  return text;
}

std::string kernel_count(const Case& end) {
  const auto& memory = end.memory();
  return fmt::format("({}: oom_kill {})",
                     memory.counted_in.empty() ? "memory.events" : memory.counted_in,
                     memory.group_oom_kills);
}

Verdict host_killer(const Case& end) {
  const auto& memory = end.memory();
  std::string count =
      memory.group_oom_kills > 0
          ? fmt::format("its own limit was never reached {}", kernel_count(end))
          : fmt::format("{}, and {} OOM kill{} on this machine meanwhile", how_it_ended(end),
                        memory.host_oom_kills, memory.host_oom_kills == 1 ? "" : "s");
  return {.cause = Cause::host_out_of_memory,
          .headline = "out of memory: killed by the host's OOM killer" + end.after(),
          .evidence = joined({peak_memory(end), std::move(count), largest_process(end)}),
          .next_step =
              "fewer jobs at a time, or a --memory below what the machine has free (see plimsoll "
              "doctor), so that the command's own limit acts first"};
}

struct Neighbours {
  uint64_t bytes = 0;
  std::string who;
};

// The largest amount that others held on one of the command's GPUs.
Neighbours neighbours_of(const Evidence& known) {
  Neighbours most;
  for (const auto* snapshot : {&known.gpus_at_end, &known.gpus_before}) {
    for (const meter::GpuReading& gpu : *snapshot) {
      if (gpu.used_bytes <= most.bytes) continue;
      most = {gpu.used_bytes, describe_holders(gpu)};
    }
  }
  return most;
}

std::string describe(const GpuMessage& message) {
  std::string text;
  if (message.wanted_bytes) text = "it wanted " + format_bytes(*message.wanted_bytes);
  if (message.own_bytes) {
    text += fmt::format("{}held {}", text.empty() ? "it " : " more and ",
                        format_bytes(*message.own_bytes));
  }
  if (message.total_bytes) text += fmt::format(" of {}", format_bytes(*message.total_bytes));
  return text;
}

uint64_t total_bytes(const GpuMessage& message, const Evidence& known) {
  uint64_t total = message.total_bytes.value_or(0);
  for (const meter::GpuReading& gpu : known.gpus_before) total = std::max(total, gpu.total_bytes);
  return total;
}

// Whether the command would have fitted on the GPU without the other processes.
bool fits_alone(const GpuMessage& message, const Evidence& known, uint64_t neighbour_bytes) {
  const uint64_t total = total_bytes(message, known);
  if (message.wanted_bytes && message.own_bytes && total > 0) {
    return *message.own_bytes + *message.wanted_bytes <= total;
  }
  if (message.wanted_bytes && total > 0 && *message.wanted_bytes > total) return false;
  // Its own size is unknown: assume a neighbour is the cause if it holds a quarter of the GPU.
  return total > 0 && neighbour_bytes >= total / kLargeShare;
}

Verdict neighbour_verdict(const Case& end, const GpuMessage& message, const Neighbours& others) {
  std::string room = "--gpu-wait 10m with --gpu-free at what it needs";
  if (message.own_bytes && message.wanted_bytes) {
    room = fmt::format("--gpu-free {} --gpu-wait 10m",
                       rounded_up(*message.own_bytes + *message.wanted_bytes));
  }
  const uint64_t total = total_bytes(message, end.known);
  const uint64_t needed = message.own_bytes && message.wanted_bytes
                              ? *message.own_bytes + *message.wanted_bytes
                              : total - total / kLargeShare;
  return {.cause = Cause::gpu_memory_neighbour,
          .headline = "GPU out of memory: other processes held it" + end.after(),
          .evidence = joined({fmt::format("{} held by {}", format_bytes(others.bytes),
                                          others.who.empty() ? "others" : others.who),
                              describe(message)}),
          .next_step = room + ", which waits until enough is free",
          .gpu_room_bytes = needed};
}

}  // namespace

Verdict judge_own_limit(const Case& end) {
  const bool by_kernel = end.memory().enforced_by_kernel;
  return {
      .cause = Cause::own_memory_limit,
      .headline = fmt::format("out of memory: {} its own limit{}",
                              by_kernel ? "killed by" : "ended at", end.after()),
      .evidence = joined({peak_memory(end) + " " +
                              (by_kernel ? kernel_count(end)
                                         : std::string("(watched: no cgroup enforces it here)")),
                          largest_process(end)}),
      .next_step = less_or_more(end)};
}

std::optional<Verdict> judge_memory(const Case& end) {
  const auto& memory = end.memory();
  if (memory.group_oom_kills > 0) {
    return memory.own_limit_hits > 0 ? judge_own_limit(end) : host_killer(end);
  }
  if (end.says(Sign::batch_system_memory)) {
    return Verdict{.cause = Cause::own_memory_limit,
                   .headline = "out of memory: killed by the limit of its Slurm job" + end.after(),
                   .evidence = joined({output_says(end), peak_memory(end), largest_process(end)}),
                   .next_step = smaller_batch(end.ending().command) +
                                ", or a larger --mem in the job's script"};
  }
  const bool was_killed = end.signal == SIGKILL || (!end.signal && end.says(Sign::process_killed));
  if (was_killed && memory.host_oom_kills > 0) return host_killer(end);
  const bool is_own_doing = !end.signal || end.signal == SIGABRT;
  if (is_own_doing && end.says(Sign::host_memory)) {
    return Verdict{.cause = Cause::memory_refused,
                   .headline = "out of memory: an allocation was refused" + end.after(),
                   .evidence = joined({output_says(end), how_it_ended(end), peak_memory(end)}),
                   .next_step = less_or_more(end) + "; ulimit -v shows the shell's limit"};
  }
  return {};
}

std::optional<Verdict> judge_gpu(const Case& end) {
  const bool is_own_doing = !end.signal || end.signal == SIGABRT;
  if (!is_own_doing || !end.says(Sign::gpu_memory)) return {};
  const GpuMessage message = parse_gpu_message(end.sign->line);
  Neighbours others = neighbours_of(end.known);
  if (message.total_bytes && message.free_bytes && message.own_bytes) {
    const uint64_t accounted = *message.free_bytes + *message.own_bytes;
    const uint64_t foreign =
        *message.total_bytes > accounted ? *message.total_bytes - accounted : 0;
    others.bytes = std::max(others.bytes, foreign);
  }
  // The driver reserves a share of every GPU.
  const uint64_t drivers = message.total_bytes.value_or(0) / 32;
  if (others.bytes > std::max(kNeighbourBytes, drivers) &&
      fits_alone(message, end.known, others.bytes)) {
    return neighbour_verdict(end, message, others);
  }
  const bool is_fragmented =
      message.idle_bytes && message.wanted_bytes && *message.idle_bytes >= *message.wanted_bytes;
  const std::string figures = describe(message);
  return Verdict{
      .cause = Cause::gpu_memory_own,
      .headline = "GPU out of memory: the command alone needs too much" + end.after(),
      .evidence =
          joined({figures.empty() ? output_says(end) : figures,
                  end.known.gpus_at_end.empty() ? "" : "no other process held much of the GPU"}),
      .next_step = is_fragmented
                       ? "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, because " +
                             format_bytes(*message.idle_bytes) + " were cached in fragments; or " +
                             smaller_batch(end.ending().command)
                       : smaller_batch(end.ending().command) + ", or mixed precision"};
}

}  // namespace plimsoll::diagnosis
