#include "diagnosis/log_signs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace plimsoll::diagnosis {
namespace {

std::optional<uint64_t> size_behind(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return {};
  return leading_size(text.substr(at + words.size()));
}

// "... 9.50 GiB already allocated": the two words before are the size.
std::optional<uint64_t> size_before(std::string_view text, std::string_view words) {
  const size_t end = text.find(words);
  if (end == std::string_view::npos) return {};
  size_t start = end;
  for (int blanks = 0; start > 0; --start) {
    const char c = text[start - 1];
    if (c == ' ' && ++blanks > 1) break;
    if (c == ';' || c == '(' || c == ',') break;
  }
  std::string_view size = text.substr(start, end - start);
  while (size.starts_with(' ')) size.remove_prefix(1);
  return leading_size(size);
}

template <typename... Sizes>
std::optional<uint64_t> first_of(std::optional<uint64_t> size, Sizes... others) {
  if constexpr (sizeof...(others) == 0) {
    return size;
  } else {
    return size ? size : first_of(others...);
  }
}

}  // namespace

std::optional<uint64_t> leading_size(std::string_view text) {
  std::string digits;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool inner = (c == '.' || c == ',') && at + 1 < text.size() &&
                       std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
    if (!digit && !inner) break;
    if (c != ',') digits += c;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
  if (at < text.size() && text[at] == ' ') ++at;
  constexpr std::string_view kPrefixes = "KMGT";
  double factor = 1;
  const size_t power = at < text.size() ? kPrefixes.find(text[at]) : std::string_view::npos;
  if (power != std::string_view::npos) {
    for (size_t i = 0; i <= power; ++i) factor *= 1024;
  }
  constexpr double kTooLarge = 9.2e18;
  if (value * factor > kTooLarge) return {};
  return static_cast<uint64_t>(value * factor);
}

GpuMessage parse_gpu_message(std::string_view text) {
  return {
      .wanted_bytes = first_of(
          size_behind(text, "Tried to allocate "), size_behind(text, "trying to allocate "),
          size_behind(text, "ut of memory allocating "), size_behind(text, "failed to allocate ")),
      .total_bytes =
          first_of(size_behind(text, "total capacity of "), size_before(text, " total capacity")),
      .free_bytes = first_of(size_behind(text, "of which "), size_before(text, " free")),
      .own_bytes = first_of(
          size_behind(text, "this process has "), size_before(text, " reserved in total"),
          size_before(text, " already allocated"), size_behind(text, "allocated so far: ")),
      .idle_bytes = size_before(text, " is reserved by PyTorch but unallocated")};
}

namespace {

constexpr size_t kMostLineBytes = 1000;

// A line matches if it contains `first` and, somewhere after it, `then`.
struct Pattern {
  Sign sign;
  std::string_view first;
  std::string_view then = {};
};

// The first pattern that matches counts, so special cases come before general ones.
constexpr auto kPatterns = std::to_array<Pattern>({
    {Sign::batch_system_memory, "oom-kill event"},
    {Sign::batch_system_memory, "oom_kill event"},
    {Sign::batch_system_memory, "xceeded job memory limit"},
    {Sign::batch_system_memory, "xceeded step memory limit"},
    {Sign::batch_system_memory, "srun: error:", "Out Of Memory"},
    {Sign::batch_system_time, "DUE TO TIME LIMIT"},
    {Sign::batch_system_end, "DUE TO PREEMPTION"},
    {Sign::batch_system_end, "DUE TO NODE FAILURE"},
    {Sign::batch_system_end, "slurmstepd: error: ***", "CANCELLED AT"},

    {Sign::host_memory, "OOM when allocating tensor", "device:CPU"},
    {Sign::host_memory, "DefaultCPUAllocator", "can't allocate memory"},
    {Sign::host_memory, "DefaultCPUAllocator", "not enough memory"},

    {Sign::gpu_memory, "CUDA out of memory"},
    {Sign::gpu_memory, "HIP out of memory"},
    {Sign::gpu_memory, "CUDA error: out of memory"},
    {Sign::gpu_memory, "cuda runtime error (2)"},
    {Sign::gpu_memory, "cudaErrorMemoryAllocation"},
    {Sign::gpu_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {Sign::gpu_memory, "CUBLAS_STATUS_ALLOC_FAILED"},
    {Sign::gpu_memory, "RESOURCE_EXHAUSTED", "ut of memory"},
    {Sign::gpu_memory, "OOM when allocating tensor"},
    {Sign::gpu_memory, "GPU_", "ran out of memory trying to allocate"},
    {Sign::gpu_memory, "cupy.cuda.memory.OutOfMemoryError"},

    {Sign::shared_memory, "insufficient shared memory"},
    {Sign::shared_memory, "unable to allocate shared memory"},
    {Sign::shared_memory, "bus error encountered in worker"},
    {Sign::shared_memory, "/dev/shm", "No space left on device"},
    {Sign::shared_memory, "No space left on device", "/dev/shm"},
    {Sign::shared_memory, "/torch_", "No space left on device"},

    {Sign::disk_full, "No space left on device"},
    {Sign::disk_full, "Disk quota exceeded"},
    {Sign::disk_full, "inline_container.cc", "unexpected pos"},
    {Sign::disk_full, "PytorchStreamWriter failed writing"},

    {Sign::host_memory, "MemoryError:"},
    {Sign::host_memory, "std::bad_alloc"},
    {Sign::host_memory, "Cannot allocate memory"},
    {Sign::host_memory, "Unable to allocate", "for an array"},

    {Sign::missing_module, "ModuleNotFoundError:"},
    {Sign::missing_library, "cannot open shared object file"},
    {Sign::missing_library, "undefined symbol:"},
    {Sign::missing_library, "version `", "' not found"},
    {Sign::missing_module, "ImportError:"},
    {Sign::missing_command, "command not found"},
    {Sign::missing_command, "bad interpreter"},
    {Sign::missing_command, "/env: ", "No such file or directory"},
    {Sign::missing_command, "sh: ", ": not found"},
    {Sign::missing_command, "bash: ", "No such file or directory"},
    {Sign::not_executable, "sh: ", "Permission denied"},
    {Sign::not_executable, "Exec format error"},

    {Sign::fallout, "ncclRemoteError"},
    {Sign::fallout, "ncclSystemError"},
    {Sign::fallout, "NCCL", "Connection"},
    {Sign::fallout, "NCCL", "aborted"},
    {Sign::fallout, "BrokenPipeError"},
    {Sign::fallout, "Broken pipe"},
    {Sign::fallout, "Connection reset by peer"},
    {Sign::fallout, "Connection closed by peer"},
    {Sign::fallout, "ChildFailedError"},
    {Sign::fallout, "CalledProcessError"},
    {Sign::fallout, "ProcessExitedException"},
    {Sign::fallout, "EOFError"},

    {Sign::gpu_error, "Watchdog caught collective operation timeout"},
    {Sign::gpu_error, "NCCL error"},
    {Sign::gpu_error, "ncclUnhandledCudaError"},
    {Sign::gpu_error, "device-side assert triggered"},
    {Sign::gpu_error, "CUDA error:"},
    {Sign::gpu_error, "CUDNN_STATUS_"},
    {Sign::gpu_error, "CUBLAS_STATUS_"},
    {Sign::gpu_error, "No CUDA GPUs are available"},
    {Sign::gpu_error, "Found no NVIDIA driver"},
    {Sign::gpu_error, "CUDA driver version is insufficient"},
    {Sign::gpu_error, "no kernel image is available"},

    {Sign::process_killed, "killed by signal: Killed"},
    {Sign::process_killed, "Signal 9 (SIGKILL) received"},
    {Sign::process_killed, "exitcode", ": -9"},
    {Sign::process_killed, "died with <Signals.SIGKILL"},
    {Sign::process_killed, "A worker process managed by the executor was unexpectedly terminated"},
    {Sign::process_killed, "A process in the process pool was terminated abruptly"},
    {Sign::crash, "Segmentation fault"},
    {Sign::crash, "Bus error"},
    {Sign::crash, "core dumped"},
    {Sign::crash, "Illegal instruction"},
    {Sign::crash, "Fatal Python error"},
});

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool matches(std::string_view line, const Pattern& pattern) {
  const size_t at = line.find(pattern.first);
  if (at == std::string_view::npos) return false;
  return pattern.then.empty() ||
         line.find(pattern.then, at + pattern.first.size()) != std::string_view::npos;
}

// A shell prints "Killed" or "./train.sh: line 3:  4711 Killed    python train.py"; "Killed 3 idle
// workers" is not from a shell.
bool is_shells_killed(std::string_view line) {
  if (line == "Killed") return true;
  const size_t at = line.find(" Killed ");
  return at != std::string_view::npos && line.find(": line ") < at;
}

// The last line of a traceback: "torch.nn.SomeError: text", a name with dots.
bool is_exception(std::string_view line) {
  const std::string_view type = line.substr(0, line.find(':'));
  return !type.empty() && std::ranges::all_of(type, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  });
}

// Removes the rank that torchrun ("[rank0]: text") or srun -l ("3: text") puts before a line; keeps
// the blanks before the text.
std::string_view without_rank(std::string_view line) {
  std::string_view rest = line;
  const bool bracketed = rest.starts_with("[rank");
  if (bracketed) rest.remove_prefix(5);
  const size_t digits = rest.find_first_not_of("0123456789");
  const std::string_view separator = bracketed ? "]: " : ": ";
  if (digits == 0 || digits == std::string_view::npos) return line;
  rest.remove_prefix(digits);
  return rest.starts_with(separator) ? rest.substr(separator.size()) : line;
}

// The text between the first pair of single quotes.
std::string quoted(std::string_view line) {
  const size_t open = line.find('\'');
  const size_t close = open == std::string_view::npos ? open : line.find('\'', open + 1);
  if (close == std::string_view::npos) return {};
  return std::string(line.substr(open + 1, close - open - 1));
}

// The part before the message: "bash: line 1: python3: command not found" -> python3.
std::string before_the_last_colon(std::string_view line, std::string_view message) {
  const size_t end = line.find(message);
  if (end == std::string_view::npos) return {};
  std::string_view head = trim(line.substr(0, end));
  while (head.ends_with(':')) head.remove_suffix(1);
  const size_t colon = head.rfind(": ");
  return std::string(trim(colon == std::string_view::npos ? head : head.substr(colon + 2)));
}

std::string subject_of(Sign sign, std::string_view line) {
  switch (sign) {
    case Sign::missing_module:
      return quoted(line);
    case Sign::missing_library:
      return before_the_last_colon(line, "cannot open shared object file");
    case Sign::missing_command: {
      if (std::string name = quoted(line); !name.empty()) return name;
      for (const std::string_view message :
           {"command not found", "not found", "No such file or directory"}) {
        std::string name = before_the_last_colon(line, message);
        if (!name.empty()) return name;
      }
      return {};
    }
    case Sign::not_executable:
      return before_the_last_colon(line, "Permission denied");
    default:
      return {};
  }
}

// Follows the tracebacks of an output, line by line.
class Tracebacks {
 public:
  enum class Part { none, middle, exception };

  Part see(std::string_view raw_line) {
    const std::string_view line = trim(raw_line);
    if (line.find("Traceback (most recent call last)") != std::string_view::npos) {
      inside_ = true;
      return Part::middle;
    }
    if (line.starts_with("During handling of the above exception") ||
        line.starts_with("The above exception was the direct cause")) {
      chained_ = true;
    }
    if (!inside_) return Part::none;
    if (line.starts_with("File \"")) remember_place(line);
    if (raw_line.starts_with(' ') || line.empty()) return Part::middle;
    return is_exception(line) ? Part::exception : Part::none;
  }

  // Call it after Part::exception.
  void complete(Finding& finding) {
    finding.place = std::exchange(place_, {});
    finding.chained = std::exchange(chained_, false);
    inside_ = false;
  }

 private:
  void remember_place(std::string_view line) {  // File "/a/train.py", line 41, in main
    const size_t quote = line.find('"', 6);
    const size_t number = line.find(", line ");
    if (quote == std::string_view::npos || number == std::string_view::npos) return;
    const std::string_view path = line.substr(6, quote - 6);
    const std::string_view rest = line.substr(number);
    place_ = path.substr(path.rfind('/') + 1);
    place_ += rest.substr(0, rest.find(',', 2));
  }

  bool inside_ = false;
  bool chained_ = false;
  std::string place_;
};

std::optional<Sign> sign_of(std::string_view line, bool is_exception) {
  for (const Pattern& pattern : kPatterns) {
    if (matches(line, pattern)) return pattern.sign;
  }
  if (is_shells_killed(line)) return Sign::process_killed;
  if (line == "MemoryError") return Sign::host_memory;
  if (is_exception) return Sign::python_exception;
  return {};
}

}  // namespace

std::vector<Finding> find_signs(std::string_view output) {
  std::vector<Finding> findings;
  Tracebacks tracebacks;
  for (size_t number = 1; !output.empty(); ++number) {
    const size_t end = output.find_first_of("\n\r");
    const std::string_view raw_line = without_rank(output.substr(0, end));
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    const Tracebacks::Part part = tracebacks.see(raw_line);
    // A traceback shows source code, which may contain any words: only its last line counts.
    if (part == Tracebacks::Part::middle) continue;
    const std::string_view line = trim(raw_line);
    Finding finding{.line = std::string(line.substr(0, kMostLineBytes)), .number = number};
    if (part == Tracebacks::Part::exception) tracebacks.complete(finding);
    const auto sign = sign_of(line, part == Tracebacks::Part::exception);
    if (!sign) continue;
    finding.sign = *sign;
    finding.subject = subject_of(*sign, line).substr(0, kMostLineBytes);
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::optional<Finding> decisive_sign(const std::vector<Finding>& findings) {
  // Start at the last exception that is not chained: the program survived everything before it.
  auto it = findings.begin();
  for (auto other = it; other != findings.end(); ++other) {
    if (other->sign == Sign::python_exception && !other->chained) it = other;
  }
  if (it == findings.end()) return {};
  auto decisive = it;
  for (; it != findings.end(); ++it) {
    if (it->sign <= decisive->sign) decisive = it;  // if equal, the last one
  }
  return *decisive;
}

std::optional<Finding> decisive_sign(std::string_view output) {
  return decisive_sign(find_signs(output));
}

}  // namespace plimsoll::diagnosis
