// The directory of a zip archive and the first bytes of every member: whatever the bytes, only
// Error may come out.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "formats/byte_stream.h"

namespace {

void read_start(const std::string& path, const std::string& member) {
  try {
    std::array<std::byte, 65536> start;
    plimsoll::formats::open_zip_member(path, member)->read(start);
  } catch (const plimsoll::Error& error) {
    if (error.kind() != plimsoll::ErrorKind::input) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const plimsoll::Fd file(::memfd_create("fuzz.npz", MFD_CLOEXEC));
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  try {
    for (const std::string& member : plimsoll::formats::zip_members(path)) read_start(path, member);
  } catch (const plimsoll::Error& error) {
    if (error.kind() != plimsoll::ErrorKind::input) __builtin_trap();
  }
  return 0;
}
