#include "gate/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::gate {
namespace {

using meter::GpuReading;

// The words of --gpu.
constexpr const char* kNone = "none";
constexpr const char* kAll = "all";

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view word = list.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    words.emplace_back(word);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return words;
}

// As in CUDA, a UUID may be shortened to a prefix.
const GpuReading* find(const std::string& word, const std::vector<GpuReading>& all) {
  const auto found = std::ranges::find_if(all, [&](const GpuReading& gpu) {
    return word == std::to_string(gpu.index) ||
           (word.starts_with("GPU-") && gpu.uuid.starts_with(word));
  });
  return found == all.end() ? nullptr : &*found;
}

std::string list_of(const std::vector<GpuReading>& all) {
  std::string text;
  for (const GpuReading& gpu : all) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", gpu.index, gpu.name);
  }
  return text.empty() ? "none" : text;
}

// Like CUDA, stops at the first word that is not a device.
std::vector<GpuReading> allowed_of(const std::vector<GpuReading>& all,
                                   const std::optional<std::string>& allowed) {
  if (!allowed) return all;
  std::vector<GpuReading> visible;
  for (const std::string& word : split(*allowed)) {
    const GpuReading* gpu = find(word, all);
    if (gpu == nullptr) break;
    visible.push_back(*gpu);
  }
  return visible;
}

bool contains(const std::vector<GpuReading>& gpus, const std::string& uuid) {
  return std::ranges::any_of(gpus, [&](const GpuReading& gpu) { return gpu.uuid == uuid; });
}

}  // namespace

GpuSelection selection_of(const std::string& text) {
  if (text.empty()) return {};
  if (text == kNone) return {.kind = GpuSelection::Kind::none};
  if (text == kAll) return {.kind = GpuSelection::Kind::all};
  return {.kind = GpuSelection::Kind::listed, .list = text};
}

std::string text_of(const GpuSelection& selection) {
  switch (selection.kind) {
    case GpuSelection::Kind::unchanged:
      return "";
    case GpuSelection::Kind::none:
      return kNone;
    case GpuSelection::Kind::all:
      return kAll;
    case GpuSelection::Kind::listed:
      return selection.list;
  }
  return "";
}

std::vector<GpuReading> choose_gpus(const GpuSelection& selection,
                                    const std::vector<GpuReading>& all,
                                    const std::optional<std::string>& allowed) {
  if (!selection.wants_gpus()) return {};
  std::vector<GpuReading> visible = allowed_of(all, allowed);
  if (selection.kind == GpuSelection::Kind::all) {
    if (visible.empty()) {
      fail(ErrorKind::usage, "--gpu all: there is no GPU to use; CUDA_VISIBLE_DEVICES is {}",
           allowed ? fmt::format("'{}'", *allowed) : "not set");
    }
    return visible;
  }
  const std::string& text = selection.list;
  std::vector<GpuReading> chosen;
  for (const std::string& word : split(text)) {
    const GpuReading* gpu = find(word, all);
    if (gpu == nullptr) {
      fail(ErrorKind::usage, "--gpu {}: there is no GPU '{}'; there are: {}", text, word,
           list_of(all));
    }
    if (!contains(visible, gpu->uuid)) {
      fail(ErrorKind::usage,
           "--gpu {}: GPU {} is not allowed, CUDA_VISIBLE_DEVICES is '{}'; --gpu all takes the "
           "GPUs that it names",
           text, gpu->index, allowed.value_or(""));
    }
    if (contains(chosen, gpu->uuid)) {
      fail(ErrorKind::usage, "--gpu {}: GPU {} is named twice", text, gpu->index);
    }
    chosen.push_back(*gpu);
  }
  return chosen;
}

std::string visible_devices(const std::vector<GpuReading>& chosen) {
  std::string text;
  for (const GpuReading& gpu : chosen) text += (text.empty() ? "" : ",") + gpu.uuid;
  return text;
}

meter::Gpus& require_gpus(const meter::GpuAccess& access) {
  if (access.gpus) return *access.gpus;
  fail(ErrorKind::io, "--gpu needs an NVIDIA GPU: {}; leave --gpu out to run the command anyway",
       access.missing_because);
}

namespace {

using meter::GpuHolder;
using meter::GpuReading;

// A process that is still listed this long after we ended it is ended again: it may have been
// stopped, or we may have had the wrong start time.
constexpr double kEndAgainSeconds = 5;
constexpr double kLeftoverSeconds = 15;  // for the driver to free a leftover's memory

std::string_view words(Whose whose) {
  switch (whose) {
    case Whose::leftover:
      return "left over from an earlier run";
    case Whose::my_job:
      return "another job of yours";
    case Whose::other_user:
      return "somebody else's";
  }
  return "";
}

}  // namespace

Whose classify_by_user(const GpuHolder& holder, uid_t me) {
  return holder.user_id == me ? Whose::my_job : Whose::other_user;
}

GatePolicy::GatePolicy(uint64_t needed_bytes, double wait_seconds, ClassifyHolder classify)
    : needed_bytes_(needed_bytes), wait_seconds_(wait_seconds), classify_(std::move(classify)) {}

GateDecision GatePolicy::next(const std::vector<GpuReading>& chosen, double now_seconds) {
  if (started_at_ < 0) started_at_ = now_seconds;
  whose_.clear();
  for (const GpuReading& gpu : chosen) {
    for (const GpuHolder& holder : gpu.holders) {
      const auto [entry, is_new] =
          whose_.try_emplace({holder.pid, holder.start_ticks}, Whose::other_user);
      if (is_new) entry->second = classify_(holder);
    }
  }
  std::vector<GpuHolder> to_end = leftovers(chosen, now_seconds);
  if (!to_end.empty()) {
    return {.move = GateDecision::Move::end_leftovers,
            .to_end = std::move(to_end),
            .reason = reason_for(chosen)};
  }
  const bool has_room = std::ranges::all_of(
      chosen, [&](const GpuReading& gpu) { return gpu.free_bytes >= needed_bytes_; });
  if (has_room) return {.move = GateDecision::Move::open, .to_end = {}, .reason = {}};
  // After ending a leftover, wait until its memory is free, even if --gpu-wait is shorter.
  double patience = wait_seconds_;
  if (first_ended_at_) {
    patience = std::max(patience, *first_ended_at_ + kLeftoverSeconds - started_at_);
  }
  const bool over = now_seconds - started_at_ >= patience;
  return {.move = over ? GateDecision::Move::give_up : GateDecision::Move::wait,
          .to_end = {},
          .reason = reason_for(chosen)};
}

std::vector<GpuHolder> GatePolicy::leftovers(const std::vector<GpuReading>& chosen,
                                             double now_seconds) {
  std::vector<GpuHolder> found;
  for (const GpuReading& gpu : chosen) {
    for (const GpuHolder& holder : gpu.holders) {
      // Without a start time, it could be another process that has the same pid now.
      if (holder.start_ticks == 0 || whose(holder) != Whose::leftover) continue;
      const Who who(holder.pid, holder.start_ticks);
      const auto ended = ended_at_.find(who);
      if (ended != ended_at_.end() && now_seconds - ended->second < kEndAgainSeconds) continue;
      ended_at_[who] = now_seconds;
      if (!first_ended_at_) first_ended_at_ = now_seconds;
      found.push_back(holder);
    }
  }
  return found;
}

Whose GatePolicy::whose(const GpuHolder& holder) const {
  return whose_.at({holder.pid, holder.start_ticks});
}

std::string GatePolicy::reason_for(const std::vector<GpuReading>& chosen) const {
  std::string text;
  for (const GpuReading& gpu : chosen) {
    const bool short_of_room = gpu.free_bytes < needed_bytes_;
    const bool has_leftover = std::ranges::any_of(
        gpu.holders, [&](const GpuHolder& holder) { return whose(holder) == Whose::leftover; });
    if (!short_of_room && !has_leftover) continue;
    std::string held;
    for (const GpuHolder& holder : gpu.holders) {
      held +=
          fmt::format("{}{}, {}", held.empty() ? "" : "; ", describe(holder), words(whose(holder)));
    }
    const uint64_t unexplained = gpu.unexplained_bytes();
    if (gpu.holders.empty() || unexplained > gpu.total_bytes / 16) {
      held += fmt::format("{}{} held by processes that the driver does not list",
                          held.empty() ? "" : "; ", format_bytes(unexplained));
    }
    text += fmt::format("{}GPU {} has {} of {} free", text.empty() ? "" : " | ", gpu.index,
                        format_bytes(gpu.free_bytes), format_bytes(gpu.total_bytes));
    if (short_of_room) text += fmt::format(", {} needed", format_bytes(needed_bytes_));
    text += ": " + held;
  }
  return text;
}

}  // namespace plimsoll::gate
