#include "launch/demo_folder.h"

#include "base/error.h"
#include "io/partial_file.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDemoMark = "made-by-plimsoll-demo";

}  // namespace

void make_demo_folder(const fs::path& folder, bool replace) {
  if (fs::exists(fs::symlink_status(folder))) {
    if (!replace) {
      fail(ErrorKind::exists, "{} exists already; --force replaces it, --out names another folder",
           folder.string());
    }
    const bool replaceable =
        fs::is_directory(folder) && (fs::exists(folder / kDemoMark) || fs::is_empty(folder));
    if (!replaceable) {
      fail(
          ErrorKind::exists,
          "{} was not made by plimsoll demo (it has no {}), so --force does not replace it; remove "
          "it yourself, or name another folder with --out",
          folder.string(), kDemoMark);
    }
    fs::remove_all(folder);
  }
  fs::create_directories(folder);
  io::write_whole(folder / kDemoMark,
                  "plimsoll demo made this folder. plimsoll demo --force replaces it.\n");
}

}  // namespace plimsoll::launch
