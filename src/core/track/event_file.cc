#include "track/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "track/event_message.h"

namespace plimsoll::track {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;
constexpr uint32_t kMaskDelta = 0xa282ead8;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? kReversedPolynomial : 0);
    }
    table[byte] = rest;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::string_view kSuffix = ".plimsoll";
constexpr uint64_t kMostRecordBytes = uint64_t{1} << 20;  // ours are a few hundred
static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

template <typename Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

template <typename Number>
bool read_number(std::istream& file, Number& number) {
  std::array<char, sizeof(Number)> bytes = {};
  if (!file.read(bytes.data(), bytes.size())) return false;
  std::memcpy(&number, bytes.data(), bytes.size());
  return true;
}

// The next record; false at the end or where it is not whole.
bool read_record(std::istream& file, std::string& data) {
  uint64_t size = 0;
  uint32_t size_crc = 0;
  uint32_t data_crc = 0;
  if (!read_number(file, size) || !read_number(file, size_crc)) return false;
  if (size > kMostRecordBytes || size_crc != masked_crc32c(bytes_of(size))) return false;
  data.resize(size);
  if (!file.read(data.data(), static_cast<std::streamsize>(size))) return false;
  return read_number(file, data_crc) && data_crc == masked_crc32c(data);
}

uint64_t record_bytes(uint64_t data_bytes) {
  return data_bytes + sizeof(uint64_t) + 2 * sizeof(uint32_t);
}

struct KeptPart {
  uint64_t bytes = 0;
  uint64_t last_step = 0;
};

KeptPart part_to_keep(const fs::path& path, uint64_t last_step) {
  std::ifstream file(path, std::ios::binary);
  KeptPart kept;
  std::string data;
  EventFacts event;
  while (read_record(file, data) && read_event(data, event)) {
    const bool later = event.has_summary && event.step > last_step;
    if (later || event.ends_session) break;
    kept.bytes += record_bytes(data.size());
    if (event.has_summary) kept.last_step = std::max(kept.last_step, event.step);
  }
  return kept;
}

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_event_file(entry.path().filename().string())) files.push_back(entry.path());
  }
  return files;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

bool is_event_file(std::string_view name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

uint64_t keep_events(const fs::path& folder, uint64_t last_step) {
  uint64_t last = 0;
  for (const fs::path& file : event_files(folder)) {
    const KeptPart kept = last_step == 0 ? KeptPart() : part_to_keep(file, last_step);
    if (kept.last_step == 0) {
      fs::remove(file);
    } else if (kept.bytes < fs::file_size(file)) {
      fs::resize_file(file, kept.bytes);
    }
    last = std::max(last, kept.last_step);
  }
  return last;
}

EventFile::EventFile(const fs::path& folder, double time) {
  // TensorBoard reads the files of a folder in the order of their names.
  const std::string host = host_name().empty() ? "localhost" : host_name();
  for (unsigned number = 0;; ++number) {
    path_ = folder / fmt::format("{}{:010}.{}.{}.{}{}", kPrefix, static_cast<uint64_t>(time), host,
                                 getpid(), number, kSuffix);
    file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
    if (file_) break;
    if (errno != EEXIST) fail_errno("write", path_, errno);
  }
  add(version_event({.time = time}));
}

void EventFile::add(std::string_view event) {
  const std::string size = bytes_of(uint64_t{event.size()});
  pending_ += size + bytes_of(masked_crc32c(size));
  pending_ += event;
  pending_ += bytes_of(masked_crc32c(event));
}

void EventFile::flush() {
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno("write", path_, errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  pending_.clear();
}

}  // namespace plimsoll::track
