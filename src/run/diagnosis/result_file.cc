#include "diagnosis/result_file.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "diagnosis/last_run.h"
#include "process/own_stream.h"

namespace plimsoll::diagnosis {
namespace {

constexpr std::chrono::seconds kPipePatience{10};
constexpr std::chrono::milliseconds kPipePause{50};

std::string text_of(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

// Waits for a reader for a limited time.
void write_pipe(const std::filesystem::path& pipe, const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + kPipePatience;
  for (;;) {
    const Fd opened(open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (opened && process::write_patiently(opened.get(), text, kPipePatience)) return;
    if (opened || errno != ENXIO || std::chrono::steady_clock::now() > deadline) {
      fail(ErrorKind::io, "no process reads {}", pipe.string());
    }
    std::this_thread::sleep_for(kPipePause);
  }
}

}  // namespace

void write_last_run(const nlohmann::ordered_json& result) {
  const std::filesystem::path file = last_run_file();
  if (file.empty()) return;
  std::error_code none;
  std::filesystem::create_directories(file.parent_path(), none);
  try {
    io::write_whole(file, text_of(result), io::Sync::no);
  } catch (const Error&) {  // the home is not writable
  }
}

void write_result(const std::filesystem::path& target, const nlohmann::ordered_json& result,
                  io::Sync sync) {
  if (std::filesystem::is_fifo(target)) {
    write_pipe(target, text_of(result));
  } else {
    io::write_whole(target, text_of(result), sync);
  }
}

}  // namespace plimsoll::diagnosis
