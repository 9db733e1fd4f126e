#include "gate/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace plimsoll::gate {
namespace {

using meter::GpuReading;

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

// A UUID may be cut short as long as it is some GPU's beginning, as CUDA allows.
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

// CUDA stops at the first word that names no device.
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

std::vector<GpuReading> choose_gpus(const std::string& text, const std::vector<GpuReading>& all,
                                    const std::optional<std::string>& allowed) {
  if (text == "none") return {};
  std::vector<GpuReading> visible = allowed_of(all, allowed);
  if (text == "all") {
    if (visible.empty()) {
      fail(ErrorKind::usage, "--gpu all: there is no GPU to use; CUDA_VISIBLE_DEVICES is {}",
           allowed ? fmt::format("'{}'", *allowed) : "not set");
    }
    return visible;
  }
  std::vector<GpuReading> chosen;
  for (const std::string& word : split(text)) {
    const GpuReading* gpu = find(word, all);
    if (gpu == nullptr) {
      fail(ErrorKind::usage, "--gpu {}: there is no GPU '{}'; there are: {}", text, word,
           list_of(all));
    }
    if (!contains(visible, gpu->uuid)) {
      fail(ErrorKind::usage,
           "--gpu {}: GPU {} is not ours, CUDA_VISIBLE_DEVICES is '{}'; --gpu all takes those it "
           "names",
           text, gpu->index, allowed.value_or(""));
    }
    if (contains(chosen, gpu->uuid)) {
      fail(ErrorKind::usage, "--gpu {}: GPU {} is named twice", text, gpu->index);
    }
    chosen.push_back(*gpu);
  }
  if (chosen.empty()) fail(ErrorKind::usage, "--gpu takes 0,1 or all or none, not '{}'", text);
  return chosen;
}

std::string visible_devices(const std::vector<GpuReading>& chosen) {
  std::string text;
  for (const GpuReading& gpu : chosen) text += (text.empty() ? "" : ",") + gpu.uuid;
  return text;
}

meter::Gpus& require_gpus(const meter::GpuAccess& access) {
  if (access.gpus) return *access.gpus;
  fail(ErrorKind::io, "--gpu needs an NVIDIA GPU: {}; without --gpu the command runs all the same",
       access.missing_because);
}

}  // namespace plimsoll::gate
