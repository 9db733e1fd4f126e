#include "ingest/build.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "graph/store.h"
#include "ingest/passes.h"
#include "io/file.h"

namespace plimsoll::ingest {
namespace {

namespace fs = std::filesystem;

fs::path parent_of(const fs::path& out) {
  const fs::path parent = (out.has_filename() ? out : out.parent_path()).parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

// One byte per node: 0, or 1 + the split it belongs to.
memory::Buffer<uint8_t> read_roles(InputGraph& source, const BuildContext& context) {
  memory::Buffer<uint8_t> roles(context.ledger, "split roles", source.shape().nodes);
  source.read_splits([&](SplitKind split, uint64_t row, uint32_t node) {
    const auto role = static_cast<uint8_t>(1 + static_cast<int>(split));
    if (roles[node] == role) {
      fail(ErrorKind::input, "{}: node {} is listed twice in the {} split; list it once",
           source.place(part_of(split), row), node, name(split));
    }
    if (roles[node] != 0) {
      fail(ErrorKind::input, "{}: node {} is also in the {} split; a node belongs to one split",
           source.place(part_of(split), row), node, name(kSplits.at(roles[node] - 1U)));
    }
    roles[node] = role;
  });
  return roles;
}

struct LabelCounts {
  uint64_t classes = 0;
  uint64_t labelled = 0;
  uint64_t last_class_node = 0;  // a node of the last class
};

// A model has an output column for every class. Labels that are really some kind of id would make a
// model too large for any machine.
void check_classes(const InputGraph& source, const LabelCounts& counts) {
  constexpr uint64_t kFewClasses = 65536;
  const bool known = source.shape().classes > 0;
  if (known || counts.classes <= std::max(kFewClasses, counts.labelled)) return;
  fail(ErrorKind::input,
       "{}: label {} makes {} classes, but only {} nodes have a label; number the classes from 0 "
       "without gaps, as np.unique(labels, return_inverse=True) does",
       source.place(InputPart::labels, counts.last_class_node), counts.classes - 1,
       format_count(counts.classes), format_count(counts.labelled));
}

// Reads all labels once before the long work, so that an invalid label is found in seconds and not
// after an hour.
LabelCounts check_labels(InputGraph& source, std::span<const uint8_t> roles,
                         const BuildContext& context) {
  LabelCounts counts;
  if (!source.shape().has_labels) return counts;
  context.progress.start_step("checking labels", "nodes", source.shape().nodes);
  uint64_t node = 0;
  source.read_labels([&](std::span<const int32_t> labels) {
    throw_if_interrupted();
    for (const int32_t label : labels) {
      if (label >= 0) {
        ++counts.labelled;
        if (static_cast<uint64_t>(label) >= counts.classes) {
          counts.classes = static_cast<uint64_t>(label) + 1;
          counts.last_class_node = node;
        }
      } else if (roles[node] != 0) {
        fail(ErrorKind::input, "{}: node {} is in the {} split but has no label",
             source.place(InputPart::labels, node), node, name(kSplits.at(roles[node] - 1U)));
      }
      ++node;
    }
    context.progress.add(labels.size());
  });
  if (node != source.shape().nodes) {
    fail(ErrorKind::internal, "the source gave {} labels for {} nodes", node, source.shape().nodes);
  }
  check_classes(source, counts);
  return counts;
}

template <typename T>
void write_array(graph::StoreWriter& writer, const std::string& name, std::span<const T> values) {
  writer.open_file(name).append_values(values);
  writer.close_file();
}

// labels.i32 by position; all -1 for a graph without labels.
void write_labels(InputGraph& source, std::span<const uint32_t> positions,
                  const BuildContext& context, graph::StoreWriter& writer) {
  memory::Buffer<int32_t> by_position(context.ledger, "labels", positions.size());
  std::fill(by_position.begin(), by_position.end(), -1);
  uint64_t node = 0;
  if (source.shape().has_labels) {
    source.read_labels([&](std::span<const int32_t> labels) {
      throw_if_interrupted();
      for (const int32_t label : labels) by_position[positions[node++]] = label;
    });
  }
  write_array<int32_t>(writer, "labels.i32", by_position.span());
}

// split.*.u32: the positions of each split's nodes, ascending.
std::array<uint64_t, 3> write_splits(std::span<const uint32_t> ids, std::span<const uint8_t> roles,
                                     graph::StoreWriter& writer) {
  std::array<uint64_t, 3> sizes = {};
  for (const SplitKind split : kSplits) {
    const auto index = static_cast<size_t>(split);
    io::FileWriter& file = writer.open_file(fmt::format("split.{}.u32", name(split)));
    for (uint64_t position = 0; position < ids.size(); ++position) {
      if (roles[ids[position]] != index + 1) continue;
      const auto value = static_cast<uint32_t>(position);
      file.append_values(std::span<const uint32_t>(&value, 1));
      ++sizes.at(index);
    }
    writer.close_file();
  }
  return sizes;
}

memory::Buffer<uint32_t> invert(std::span<const uint32_t> ids, memory::Ledger& ledger) {
  memory::Buffer<uint32_t> positions(ledger, "node order", ids.size());
  for (uint64_t position = 0; position < ids.size(); ++position) {
    positions[ids[position]] = static_cast<uint32_t>(position);
  }
  return positions;
}

}  // namespace

io::TempPlace check_room(const BuildShape& shape, const BuildOptions& options,
                         uint64_t limit_bytes) {
  if (const uint64_t least = least_memory_bytes(shape); limit_bytes < least) {
    fail(ErrorKind::memory,
         "{0} nodes need at least {1} MiB of memory, the limit is {2}; raise --memory to {1}M, or "
         "use a machine that has it",
         format_count(shape.nodes), (least + kMiB - 1) / kMiB, format_bytes(limit_bytes));
  }
  const fs::path store_folder = parent_of(options.out);
  const fs::path temp_folder = options.temp_folder.empty() ? store_folder : options.temp_folder;
  const io::Disk store = io::disk_of(store_folder);
  const io::Disk temp = io::disk_of(temp_folder);
  const bool one_disk = store.device == temp.device;
  const auto fits = [&](const DiskNeed& need) {
    return one_disk ? need.together_bytes <= store.free_bytes
                    : need.store_bytes <= store.free_bytes && need.temp_bytes <= temp.free_bytes;
  };
  DiskNeed need = disk_need(shape, /*release_early=*/false);
  if (fits(need)) return {temp_folder, /*release_early=*/false};
  if (io::TempFile::can_release(temp_folder)) {
    need = disk_need(shape, /*release_early=*/true);
    if (fits(need)) return {temp_folder, /*release_early=*/true};
  }
  if (one_disk) {
    fail(ErrorKind::disk,
         "the store ({}) and its temporary files need up to {} in {}, {} are free; free some "
         "space, or give --temp-dir on another disk",
         format_bytes(need.store_bytes), format_bytes(need.together_bytes), store_folder.string(),
         format_bytes(store.free_bytes));
  }
  if (need.store_bytes > store.free_bytes) {
    fail(ErrorKind::disk, "the store needs up to {} in {}, {} are free; free some space",
         format_bytes(need.store_bytes), store_folder.string(), format_bytes(store.free_bytes));
  }
  fail(ErrorKind::disk, "temporary files need up to {} in {}, {} are free; give another --temp-dir",
       format_bytes(need.temp_bytes), temp_folder.string(), format_bytes(temp.free_bytes));
}

BuildResult build(InputGraph& source, const BuildOptions& options, memory::Ledger& ledger,
                  Progress& progress) {
  const Shape& shape = source.shape();
  if (shape.nodes == 0 || shape.feature_columns == 0) {
    fail(ErrorKind::input, "the graph has {} nodes and {} feature columns; a store needs both",
         shape.nodes, shape.feature_columns);
  }
  const bool rows_on_demand = source.has_random_rows();
  BuildShape built = build_shape(shape, options.direction, options.features, rows_on_demand);
  built.source_bytes = source.leased_bytes();
  const io::TempPlace temp = check_room(built, options, ledger.limit_bytes());
  const memory::Lease runtime = ledger.lease("runtime", kRuntimeBytes);
  const BuildContext context{ledger, progress, temp,
                             affordable_threads(options.threads, built, ledger.limit_bytes())};
  graph::StoreWriter writer(options.out, options.replace, ledger);
  BuildResult result;
  result.removed_remains = writer.folder().removed_remains();
  graph::Meta& meta = result.meta;

  // Find errors in labels and splits before the long work.
  memory::Buffer<uint8_t> roles = read_roles(source, context);
  const LabelCounts labels = check_labels(source, roles.span(), context);

  // Edges in any order -> lists in the original numbering -> the hot nodes.
  memory::Buffer<uint32_t> ids;
  memory::Buffer<uint32_t> positions;
  {
    Lists lists(ledger, context.temp, shape.nodes);
    result.dropped = collect_lists(source, options.direction, context, lists);
    if (lists.edges() == 0) {
      fail(ErrorKind::input, "{}: no edge is left, all {} are self-loops",
           source.place(InputPart::edges, 0), result.dropped.self_loops);
    }
    meta.edges = lists.edges();
    {
      HotOrder order = find_hot_order(lists, roles.span(), options.order, context);
      meta.order = order.by;
      write_array<float>(writer, "hotness.f32", order.hotness.span());
      write_array<uint32_t>(writer, "ids.u32", order.ids.span());
      ids = std::move(order.ids);
    }
    // Everything from here on is in hot-first order.
    meta.split_sizes = write_splits(ids.span(), roles.span(), writer);
    roles = {};
    positions = invert(ids.span(), ledger);
    write_lists(lists, ids.span(), positions.span(), context, writer);
  }
  write_labels(source, positions.span(), context, writer);
  if (rows_on_demand) {
    positions = {};
    result.vanished_values =
        write_rows_on_demand(source, ids.span(), options.features, context, writer);
  } else {
    ids = {};
    result.vanished_values =
        write_rows_permuted(source, positions.span(), options.features, context, writer);
  }

  meta.nodes = shape.nodes;
  meta.direction = options.direction;
  meta.classes = std::max(labels.classes, shape.classes);
  meta.labelled = labels.labelled;
  meta.feature_type = options.features;
  meta.feature_columns = shape.feature_columns;
  meta.row_bytes = graph::padded_row_bytes(options.features, shape.feature_columns);
  meta.source = options.source;
  writer.commit(meta);
  return result;
}

}  // namespace plimsoll::ingest
