#include "formats/recognise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/run_files.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) fail_errno("look at", path.string(), error.value());
  return status;
}

}  // namespace

bool is_there(const fs::path& path) { return fs::exists(status_of(path)); }
bool is_folder(const fs::path& path) { return fs::is_directory(status_of(path)); }

bool is_store(const std::filesystem::path& folder) { return is_there(folder / "meta.json"); }

std::optional<fs::path> find_file(const fs::path& folder, std::string_view stem,
                                  std::span<const std::string_view> endings) {
  for (const std::string_view ending : endings) {
    fs::path file = folder / fmt::format("{}{}", stem, ending);
    if (is_there(file)) return file;
  }
  return std::nullopt;
}

std::vector<std::string> list_entries(const fs::path& folder) {
  std::vector<std::string> names;
  if (!is_folder(folder)) return names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) fail_errno("list", folder.string(), error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> list_folders(const fs::path& folder) {
  std::vector<std::string> names = list_entries(folder);
  std::erase_if(names, [&](const std::string& name) { return !is_folder(folder / name); });
  return names;
}

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kCsvEndings = {".csv.gz", ".csv"};
constexpr std::array<std::string_view, 1> kNpyEnding = {".npy"};

bool ends_with_one_of(const fs::path& path, std::initializer_list<std::string_view> endings) {
  const std::string name = path.filename().string();
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// The name of a store or archive made from it: "arxiv" for data/arxiv/ and for arxiv.npz.
std::string name_for(const fs::path& path) {
  std::error_code unreadable;
  std::string name = fs::weakly_canonical(path, unreadable).filename().string();
  name = name.substr(0, name.find('.'));
  return name.empty() ? "my" : name;
}

std::string import_command(std::string_view format, const fs::path& path) {
  return fmt::format("plimsoll import {} {} --out {}", format, shell_word(path.string()),
                     shell_word(name_for(path) + ".plim"));
}

// The entries of `folder` that `wanted` accepts. Skips entries that cannot be read.
template <typename Wanted>
std::vector<fs::path> entries(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> found;
  for (const std::string& name : list_entries(folder)) {
    try {
      if (wanted(folder / name)) found.push_back(folder / name);
    } catch (const Error&) {
      continue;
    }
  }
  return found;
}

std::string names(const std::vector<fs::path>& paths) {
  constexpr size_t kShown = 6;
  std::vector<std::string> shown;
  for (const fs::path& path : paths) {
    if (shown.size() == kShown) break;
    shown.push_back(path.filename().string());
  }
  return fmt::format("{}{}", fmt::join(shown, ", "), paths.size() > kShown ? ", ..." : "");
}

bool is_data_set(const fs::path& path) {
  return ogb_files_in(path / "raw") != OgbFiles::none || ogb_files_in(path) == OgbFiles::npy;
}

// The file that PyG keeps a data set in. (Its pre_*.pt files only say how the data set was made.)
bool is_pyg_file(const fs::path& path) {
  return path.extension() == ".pt" && !path.filename().string().starts_with("pre_");
}

// Only Python can read pickled objects of PyG's classes, so this gives a command that converts
// them.
std::string save_and_import(const fs::path& file, const std::string& name) {
  return fmt::format(
      "which only Python can read; save its arrays, then import them:\n"
      "  python3 -c \"import sys, torch, numpy; d = torch.load(sys.argv[1], weights_only=False); "
      "d = d[0] if isinstance(d, tuple) else d; d = d if isinstance(d, dict) else d.to_dict(); "
      "numpy.savez(sys.argv[2], **{{k: v for k, v in d.items() if hasattr(v, 'numpy')}})\" {} {}\n"
      "  plimsoll import npz {} --out {}",
      shell_word(file.string()), shell_word(name + ".npz"), shell_word(name + ".npz"),
      shell_word(name + ".plim"));
}

std::string recognise_file(const fs::path& path) {
  if (path.filename() == "meta.json") {
    return fmt::format("a file of a store; give its folder, {}",
                       path.has_parent_path() ? path.parent_path().string() : ".");
  }
  if (ends_with_one_of(path, {".npz"})) {
    return "a NumPy archive; make a store of it: " + import_command("npz", path);
  }
  if (ends_with_one_of(path, {".npy"})) {
    return "one NumPy array; a graph takes edge_index.npy and node_feat.npy in one folder: "
           "plimsoll import ogb FOLDER --out NAME.plim";
  }
  if (ends_with_one_of(path, {".csv", ".csv.gz", ".txt", ".tsv"})) {
    return "a text file; make a store of such files: plimsoll import csv --edges EDGES.csv "
           "--features FEATURES.csv --labels LABELS.csv --split-dir FOLDER --out NAME.plim";
  }
  if (is_pyg_file(path)) return "a file of PyTorch, " + save_and_import(path, name_for(path));
  if (ends_with_one_of(path, {".pth"})) return "a checkpoint; give the store it was trained on";
  if (ends_with_one_of(path, {".zip", ".tar", ".tar.gz", ".tgz"})) {
    return "a packed folder; unpack it, then import what it holds";
  }
  return "a file in an unknown format; plimsoll import reads OGB folders, NumPy archives and csv "
         "files";
}

// For a folder that is a data set or a store, or part of one; else "".
std::string recognise_itself(const fs::path& path) {
  if (is_store(path)) {
    return fmt::format("a store already; train on it: plimsoll train {}",
                       shell_word(path.string()));
  }
  if (ends_with_one_of(path, {".partial"})) {
    return "an incomplete store, left by an import that was killed; import the graph again";
  }
  if (const fs::path data_set = data_set_of_raw(path); !data_set.empty()) {
    return "the raw/ folder of an OGB data set; make a store of all of it: " +
           import_command("ogb", data_set);
  }
  if (is_data_set(path)) {
    return "an OGB data set; make a store of it: " + import_command("ogb", path);
  }
  if (is_there(path / kLastCheckpoint)) {
    return "the output folder of a training run; give the store it was trained on";
  }
  return "";
}

std::string recognise_pyg(const fs::path& path) {
  auto files = entries(path, is_pyg_file);
  const bool is_processed = !files.empty();
  if (!is_processed) files = entries(path / "processed", is_pyg_file);
  if (files.empty()) return "";
  std::error_code unreadable;
  const fs::path whole = fs::weakly_canonical(path, unreadable);
  const bool inside = is_processed && whole.filename() == "processed";
  return fmt::format("{} of PyG, {}", inside ? "the processed/ folder of a data set" : "a data set",
                     save_and_import(files[0], name_for(inside ? whole.parent_path() : whole)));
}

// For any other folder: describes what it holds.
std::string recognise_content(const fs::path& path) {
  if (const auto stores = entries(path, is_store); !stores.empty()) {
    return fmt::format(
        "a folder that holds {}; give {}",
        stores.size() == 1 ? "the store " + names(stores) : "stores: " + names(stores),
        stores[0].string());
  }
  if (const auto sets = entries(path, is_data_set); !sets.empty()) {
    return fmt::format(
        "a folder that holds {}; make a store of it: {}",
        sets.size() == 1 ? "the OGB data set " + names(sets) : "OGB data sets: " + names(sets),
        import_command("ogb", sets[0]));
  }
  const auto archives =
      entries(path, [](const fs::path& file) { return file.extension() == ".npz"; });
  if (!archives.empty()) {
    return fmt::format("a folder that holds NumPy archives: {}; make a store of one: {}",
                       names(archives), import_command("npz", archives[0]));
  }
  const auto texts = entries(path, [](const fs::path& file) {
    return ends_with_one_of(file, {".csv", ".csv.gz"});
  });
  if (!texts.empty()) {
    return fmt::format(
        "a folder of text files: {}; make a store of them: plimsoll import csv --edges EDGES.csv "
        "--features FEATURES.csv --labels LABELS.csv --split-dir FOLDER --out NAME.plim",
        names(texts));
  }
  const auto all = entries(path, [](const fs::path&) { return true; });
  if (all.empty()) {
    return "an empty folder; put a data set there, or make a graph to try: plimsoll synth arxiv "
           "--out arxiv.plim";
  }
  return fmt::format(
      "a folder that holds: {}; plimsoll import reads OGB folders, NumPy archives "
      "and csv files",
      names(all));
}

}  // namespace

OgbFiles ogb_files_in(const fs::path& folder) {
  if (is_there(folder / "data.npz")) return OgbFiles::npz;
  if (find_file(folder, "edge", kCsvEndings)) return OgbFiles::csv;
  if (find_file(folder, "edge_index", kNpyEnding)) return OgbFiles::npy;
  return OgbFiles::none;
}

fs::path data_set_of_raw(const fs::path& folder) {
  std::error_code unreadable;
  const fs::path resolved = fs::weakly_canonical(folder, unreadable);
  const bool is_raw = resolved.filename() == "raw" && ogb_files_in(folder) != OgbFiles::none;
  return is_raw ? resolved.parent_path() : fs::path();
}

std::string recognise(const fs::path& path) {
  if (!is_folder(path)) return recognise_file(path);
  for (const auto& attempt : {recognise_itself, recognise_pyg, recognise_content}) {
    if (std::string words = attempt(path); !words.empty()) return words;
  }
  return "a folder";
}

void check_is_npz(const fs::path& file) {
  if (!is_there(file)) fail(ErrorKind::io, "there is no file {}", file.string());
  const bool other = ends_with_one_of(file, {".pt", ".pth", ".npy", ".csv", ".csv.gz"});
  if (!is_folder(file) && !other) return;
  fail(ErrorKind::input, "{} is not a NumPy archive, but {}", file.string(), recognise(file));
}

void check_is_text(const fs::path& file) {
  if (!is_there(file)) fail(ErrorKind::io, "there is no file {}", file.string());
  const bool other = ends_with_one_of(file, {".pt", ".pth", ".npy", ".npz"});
  if (!is_folder(file) && !other) return;
  fail(ErrorKind::input, "{} is not a text file, but {}", file.string(), recognise(file));
}

}  // namespace plimsoll::formats
