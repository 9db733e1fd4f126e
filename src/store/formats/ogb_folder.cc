#include "formats/ogb_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/units.h"
#include "formats/graph_blocks.h"
#include "formats/npz_writer.h"
#include "formats/ogb_layout.h"
#include "io/file.h"
#include "io/partial_file.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

constexpr RandomStream kYears(2019, 0);
constexpr int64_t kFirstYear = 1990;
constexpr int64_t kLastYear = 2019;
constexpr std::array<int64_t, ingest::kSplits.size()> kSplitYears = {2017, 2018, 2019};

// The longest texts in a csv, separator included.
constexpr uint64_t kFloatBytes = 16;  // "-1.17549435e-38,"
constexpr uint64_t kYearBytes = 5;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_errno("make the folder", path.string(), error.value());
}

// Writes the split files if the graph has splits. Returns the split of every node.
SplitRoles write_splits(const OgbWork& work) {
  SplitRoles roles(work.ledger, "split roles", work.shape().nodes);
  const fs::path folder = work.folder / "split" / work.options.split_name;
  std::array<std::optional<CsvGzWriter>, ingest::kSplits.size()> files;
  const auto open_files = [&] {
    make_folder(folder);
    for (const ingest::SplitKind split : ingest::kSplits) {
      files.at(static_cast<size_t>(split))
          .emplace(work.ledger, folder / fmt::format("{}.csv.gz", name(split)));
    }
  };
  work.source.read_splits([&](ingest::SplitKind split, uint64_t, uint32_t node) {
    const auto index = static_cast<size_t>(split);
    if (!files.at(index)) open_files();
    files.at(index)->add_integer(node);
    files.at(index)->end_line();
    roles[node] = static_cast<uint8_t>(index + 1);
  });
  for (std::optional<CsvGzWriter>& file : files) {
    if (file) file->finish();
  }
  return roles;
}

// Upper bound for a file on disk: a compressor may add a little to data that it cannot compress,
// and a file takes some space beside its bytes.
uint64_t incompressible(uint64_t bytes) { return bytes + bytes / 1000 + 64 * kKiB; }

uint64_t digits(uint64_t value) { return std::to_string(value).size(); }

uint64_t npz_bytes(const ingest::Shape& shape) {
  const auto array = [](NpyType type, std::initializer_list<uint64_t> extents) {
    return incompressible(npy_bytes(type, std::vector<uint64_t>(extents)));
  };
  return array(NpyType::int64, {2, shape.edges}) +
         array(NpyType::float32, {shape.nodes, shape.feature_columns}) +
         array(NpyType::int64, {shape.nodes, 1}) +                  // years
         array(NpyType::int64, {1}) + array(NpyType::int64, {1}) +  // counts
         (shape.has_labels ? array(NpyType::float32, {shape.nodes, 1}) : 0);
}

uint64_t csv_bytes(const ingest::Shape& shape) {
  const uint64_t id_bytes = digits(shape.nodes) + 1;
  return incompressible(shape.edges * 2 * id_bytes) +
         incompressible(shape.nodes * shape.feature_columns * kFloatBytes) +
         incompressible(shape.nodes * kYearBytes) + incompressible(digits(shape.nodes) + 1) +
         incompressible(digits(shape.edges) + 1) +
         (shape.has_labels ? incompressible(shape.nodes * id_bytes) : 0);
}

void check_space(const OgbWork& work) {
  const OgbFolderSpace needed = space_needed(work.shape(), work.options);
  const io::Disk out = io::disk_of(work.folder);
  const io::Disk temporary = io::disk_of(work.temp_dir);
  const bool shared = out.device == temporary.device;
  const uint64_t out_bytes = needed.folder_bytes + (shared ? needed.temporary_bytes : 0);
  if (out_bytes > out.free_bytes) {
    fail(ErrorKind::disk,
         "{} needs up to {}, {} are free there; free some space or choose another --out",
         work.options.out.string(), format_bytes(out_bytes), format_bytes(out.free_bytes));
  }
  if (!shared && needed.temporary_bytes > temporary.free_bytes) {
    fail(ErrorKind::disk,
         "the temporary files in {} need {}, {} are free there; choose another --temp-dir",
         work.temp_dir.string(), format_bytes(needed.temporary_bytes),
         format_bytes(temporary.free_bytes));
  }
}

void check_split_name(const std::string& split_name) {
  if (split_name.empty() || split_name == "." || split_name == ".." ||
      split_name.find('/') != std::string::npos) {
    fail(ErrorKind::usage, "the split name \"{}\" cannot name a folder", split_name);
  }
}

fs::path temp_dir_of(const OgbFolderOptions& options, const io::StagedFolder& staged) {
  if (!options.temp_dir.empty()) return options.temp_dir;
  return io::folder_of(staged.target());
}

}  // namespace

int64_t year_of(const SplitRoles& roles, uint64_t node) {
  if (roles[node] != 0) return kSplitYears.at(roles[node] - 1U);
  return kFirstYear + static_cast<int64_t>(below(kYears.at(node), kLastYear - kFirstYear + 1));
}

void read_all_labels(const OgbWork& work, const ingest::InputGraph::LabelSink& sink) {
  uint64_t count = 0;
  work.source.read_labels([&](std::span<const int32_t> labels) {
    throw_if_interrupted();
    sink(labels);
    count += labels.size();
  });
  if (count != work.shape().nodes) {
    fail(ErrorKind::internal, "{} labels were read for {} nodes", count, work.shape().nodes);
  }
}

OgbFolderSpace space_needed(const ingest::Shape& shape, const OgbFolderOptions& options) {
  const uint64_t split_bytes = incompressible(shape.nodes * (digits(shape.nodes) + 1)) +
                               (ingest::kSplits.size() - 1) * incompressible(0);
  if (options.layout == OgbLayout::csv) return {split_bytes + csv_bytes(shape), 0};
  // Labels and destinations are in temp_dir one after the other, not at the same time.
  const uint64_t waiting = std::max(shape.edges, shape.has_labels ? shape.nodes : 0);
  return {split_bytes + npz_bytes(shape),
          waiting * sizeof(uint32_t) + SpoolFile::kBlockValues * sizeof(uint32_t)};
}

void write_ogb_folder(ingest::InputGraph& source, const OgbFolderOptions& options,
                      memory::Ledger& ledger, Progress& progress) {
  check_split_name(options.split_name);
  io::StagedFolder staged(options.out, options.replace);
  const OgbWork work{source, options, staged.path(), temp_dir_of(options, staged),
                     ledger, progress};
  check_space(work);

  make_folder(work.folder / "raw");
  const SplitRoles roles = write_splits(work);
  switch (options.layout) {
    case OgbLayout::npz:
      write_npz_layout(work, roles);
      break;
    case OgbLayout::csv:
      write_csv_layout(work, roles);
      break;
  }
  progress.finish_step();

  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(staged.path())) {
    if (entry.is_directory()) {
      io::sync_folder(entry.path());
    } else {
      io::sync_file(entry.path());
    }
  }
  staged.commit();
}

}  // namespace plimsoll::formats
