#include "plan/shape.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "io/scattered_reader.h"

namespace plimsoll::plan {
namespace {

constexpr uint64_t kMarks = 512;

// The distances grow: the exact position of a line matters more among hot rows than among cold
// ones.
std::vector<Mark> places(uint64_t nodes) {
  std::vector<Mark> marks = {{0, 0}};
  const double growth = std::pow(static_cast<double>(nodes) + 1, 1.0 / kMarks);
  double place = 1;
  for (uint64_t i = 0; i < kMarks; ++i) {
    place *= growth;
    const auto node = std::min(nodes, static_cast<uint64_t>(place));
    if (node > marks.back().node) marks.push_back({node, 0});
  }
  if (marks.back().node < nodes) marks.push_back({nodes, 0});
  return marks;
}

}  // namespace

StoreShape read_shape(const graph::Store& store, memory::Ledger& ledger) {
  const graph::Meta& meta = store.meta();
  StoreShape shape{.nodes = meta.nodes,
                   .edges = meta.edges,
                   .row_bytes = meta.row_bytes,
                   .columns = meta.input_columns(),
                   .classes = meta.classes,
                   .train_nodes = meta.split_sizes[0],
                   .evaluated_nodes = meta.split_sizes[1] + meta.split_sizes[2],
                   .first_layer = meta.first_layer,
                   .marks = places(meta.nodes)};
  io::ScatteredReader reader(ledger, {});
  reader.expect(shape.marks.size());
  for (size_t i = 0; i < shape.marks.size(); ++i) {
    reader.want(shape.marks[i].node * sizeof(uint64_t), i);
  }
  reader.read(io::open_rows(store.file("offsets.u64")), sizeof(uint64_t),
              [&](uint64_t i, const std::byte* value) {
                std::memcpy(&shape.marks[i].edges, value, sizeof(uint64_t));
              });
  return shape;
}

}  // namespace plimsoll::plan
