#include "diagnosis/signals.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

namespace plimsoll::diagnosis {
namespace {

constexpr int kLastSignal = 64;

}  // namespace

std::string signal_name(int number) {
  const char* name = number > 0 ? sigabbrev_np(number) : nullptr;
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

std::optional<int> signal_behind(int exit_code) {
  if (exit_code > 128 && exit_code <= 128 + kLastSignal) return exit_code - 128;
  // Only those that launchers are seen to pass on: 255 is a favourite of many programs.
  switch (256 - exit_code) {
    case SIGABRT:
    case SIGKILL:
    case SIGSEGV:
    case SIGTERM:
      return 256 - exit_code;
    default:
      return {};
  }
}

std::optional<int> ending_signal(const process::LeaderEnd& end) {
  if (const auto* signaled = std::get_if<process::Signaled>(&end)) return signaled->number;
  if (const auto* exited = std::get_if<process::Exited>(&end)) return signal_behind(exited->code);
  return {};
}

}  // namespace plimsoll::diagnosis
