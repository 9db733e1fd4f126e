#include "formats/data_root.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "formats/recognise.h"

namespace plimsoll::formats {

graph::Store open_store(const std::filesystem::path& path) {
  if (formats::is_there(path) && !formats::is_there(path / "meta.json")) {
    fail(ErrorKind::store, "{} is not a store (it has no meta.json), but {}", path.string(),
         formats::recognise(path));
  }
  return graph::open(path);
}

std::string verify_store(const graph::Store& store, memory::Ledger& ledger, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t bytes = 0;
  for (const auto& [file, about] : store.meta().files) bytes += about.bytes;
  progress.start_step("checking the files", "bytes", bytes);
  graph::verify(store, ledger, [&](uint64_t count) { progress.add(count); });
  progress.finish_step();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return fmt::format("all {} files match their checksums ({} in {})", store.meta().files.size(),
                     format_bytes(bytes), format_seconds(seconds));
}

namespace {

namespace fs = std::filesystem;

bool has_raw_files(const fs::path& folder) { return formats::is_folder(folder / "raw"); }

// The paths of the folders in `root` that `wanted` accepts. Skips folders that cannot be read.
template <typename Wanted>
std::vector<fs::path> children(const fs::path& root, const Wanted& wanted) {
  std::vector<fs::path> found;
  for (const std::string& name : formats::list_folders(root)) {
    try {
      if (wanted(root / name)) found.push_back(root / name);
    } catch (const Error&) {
      continue;
    }
  }
  return found;
}

std::string list(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return fmt::format("{}", fmt::join(names, ", "));
}

// The folder's real name, also for "." and "data/".
std::string name_of(const fs::path& folder) {
  const fs::path whole = fs::canonical(folder);
  return whole.filename().string();
}

DataRoot to_import(const fs::path& root, const fs::path& data_set) {
  const fs::path store = root / (name_of(data_set) + ".plim");
  if (::access(root.c_str(), W_OK) != 0) {
    fail(ErrorKind::io,
         "{} is not writable, but the store made from {} belongs there; make it elsewhere with "
         "plimsoll import ogb {} --out MY.plim, then plimsoll train MY.plim",
         root.string(), data_set.string(), data_set.string());
  }
  return {store, data_set};
}

}  // namespace

DataRoot resolve_data_root(const fs::path& root) {
  if (!formats::is_there(root)) {
    fail(ErrorKind::io, "--data_root {}: there is no such folder", root.string());
  }
  if (!formats::is_folder(root)) {
    fail(ErrorKind::usage, "--data_root {} is a file; give the folder of the data: it is {}",
         root.string(), formats::recognise(root));
  }
  if (is_store(root)) return {root, {}};
  const auto stores = children(
      root, [](const fs::path& child) { return child.extension() == ".plim" && is_store(child); });
  if (stores.size() == 1) return {stores[0], {}};
  if (stores.size() > 1) {
    fail(ErrorKind::usage,
         "--data_root {} holds {} stores: {}; name one: plimsoll train {} in place of --data_root",
         root.string(), stores.size(), list(stores), stores[0].string());
  }
  if (has_raw_files(root)) return to_import(root, root);
  const auto data_sets = children(root, has_raw_files);
  if (data_sets.size() == 1) return to_import(root, data_sets[0]);
  if (data_sets.size() > 1) {
    fail(ErrorKind::usage, "--data_root {} holds {} data sets: {}; name one: --data_root {}",
         root.string(), data_sets.size(), list(data_sets), data_sets[0].string());
  }
  const auto others = children(root, [](const fs::path&) { return true; });
  fail(ErrorKind::input,
       "--data_root {} holds no store (NAME.plim) and no OGB data set (a folder with raw/), only "
       "{}; give the folder that ogb downloaded to, or make a store with plimsoll import: it is {}",
       root.string(), others.empty() ? "no folders" : list(others), formats::recognise(root));
}

}  // namespace plimsoll::formats
