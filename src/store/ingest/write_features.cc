#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "base/units.h"
#include "ingest/build_plan.h"
#include "ingest/passes.h"
#include "ingest/spill.h"

namespace plimsoll::ingest {
namespace {

using graph::FeatureType;

constexpr uint64_t kValuesPerBlock = 128 * 1024;

[[noreturn]] void refuse_value(const InputGraph& source, uint64_t row, uint64_t column,
                               float value) {
  const std::string place = fmt::format("{}, column {}: the value {}",
                                        source.place(InputPart::features, row), column, value);
  if (std::isfinite(value)) {
    fail(ErrorKind::input, "{} does not fit f16 (at most 65504); give --feature-type f32", place);
  }
  fail(ErrorKind::input,
       "{} is not finite, or beyond single precision; replace or drop it before importing", place);
}

// Checks rows and converts them to the store's type, without the padding.
class RowEncoder {
 public:
  RowEncoder(const InputGraph& source, FeatureType type)
      : source_(source), type_(type), columns_(source.shape().feature_columns) {}

  uint64_t encoded_bytes() const { return columns_ * graph::value_bytes(type_); }

  // Returns how many values that are not 0 became 0.
  uint64_t encode(uint64_t row, std::span<const float> values, std::byte* out) const {
    const bool half = type_ == FeatureType::f16;
    const float limit = half ? kHalfOverflow : INFINITY;
    const float vanishing = half ? 0x1p-25F : 0.0F;  // f16 rounds magnitudes up to this to 0
    bool all_fit = true;
    uint32_t vanished = 0;
    for (const float value : values) {
      const float magnitude = std::fabs(value);
      all_fit &= magnitude < limit;
      vanished +=
          static_cast<uint32_t>(magnitude <= vanishing) & static_cast<uint32_t>(magnitude > 0);
    }
    if (!all_fit) {
      const auto bad = std::find_if(values.begin(), values.end(),
                                    [&](float value) { return !(std::fabs(value) < limit); });
      refuse_value(source_, row, static_cast<uint64_t>(bad - values.begin()), *bad);
    }
    if (half) {
      to_half(values, {reinterpret_cast<uint16_t*>(out), values.size()});
    } else {
      std::memcpy(out, values.data(), values.size_bytes());
    }
    return vanished;
  }

 private:
  const InputGraph& source_;
  FeatureType type_;
  uint64_t columns_;
};

uint64_t rows_per_block(uint64_t columns) {
  return std::max<uint64_t>(1, kValuesPerBlock / columns);
}

}  // namespace

uint64_t write_rows_on_demand(const InputGraph& source, std::span<const uint32_t> ids,
                              FeatureType type, const BuildContext& context,
                              graph::StoreWriter& writer) {
  const uint64_t columns = source.shape().feature_columns;
  const uint64_t row_bytes = graph::padded_row_bytes(type, columns);
  const uint64_t block_rows = rows_per_block(columns);
  const RowEncoder encoder(source, type);
  io::FileWriter& file = writer.open_file(graph::features_name(type));
  std::atomic<uint64_t> vanished = 0;
  context.progress.start_step("writing features", "rows", ids.size());
  struct Block {
    memory::Buffer<float> values;
    memory::Buffer<std::byte> rows;
    uint64_t count = 0;
  };
  parallel_ordered(
      context.threads, (ids.size() + block_rows - 1) / block_rows,
      [&] {
        return Block{{context.ledger, "feature blocks", block_rows * columns},
                     {context.ledger, "feature blocks", block_rows * row_bytes}};
      },
      [&](Block& block, size_t index) {
        const auto nodes =
            ids.subspan(index * block_rows)
                .first(std::min<uint64_t>(block_rows, ids.size() - index * block_rows));
        block.count = nodes.size();
        source.rows_of(nodes, block.values.first(nodes.size() * columns));
        for (size_t i = 0; i < nodes.size(); ++i) {
          vanished += encoder.encode(nodes[i], block.values.span().subspan(i * columns, columns),
                                     block.rows.data() + i * row_bytes);
        }
      },
      [&](Block& block, size_t) {
        file.append(block.rows.first(block.count * row_bytes));
        context.progress.add(block.count);
      });
  writer.close_file();
  return vanished;
}

uint64_t write_rows_permuted(InputGraph& source, std::span<const uint32_t> positions,
                             FeatureType type, const BuildContext& context,
                             graph::StoreWriter& writer) {
  const uint64_t columns = source.shape().feature_columns;
  const uint64_t nodes = positions.size();
  const uint64_t row_bytes = graph::padded_row_bytes(type, columns);
  const RowEncoder encoder(source, type);
  // A record is the row's position and its encoded values.
  const uint64_t record_bytes = sizeof(uint32_t) + encoder.encoded_bytes();
  const Distribution plan =
      plan_distribution({.total_bytes = nodes * record_bytes,
                         .record_bytes = record_bytes,
                         .memory_bytes = context.ledger.available_bytes() - io::kStreamBytes,
                         .threads = context.threads});
  // A bucket is a range of positions; its rows must fit into a workspace.
  const uint64_t bucket_rows = std::max<uint64_t>(
      1, std::min((nodes + plan.buckets - 1) / plan.buckets, plan.workspace_bytes / row_bytes));
  Spill spill(context.ledger, {.temp = context.temp,
                               .buckets = (nodes + bucket_rows - 1) / bucket_rows,
                               .record_bytes = record_bytes,
                               .chunk_bytes = plan.chunk_bytes});

  context.progress.start_step("reading features", "rows", nodes);
  std::atomic<uint64_t> rows_read = 0;
  std::atomic<uint64_t> vanished = 0;
  run_team(plan.threads, [&](Team& team) {
    memory::Buffer<float> values(context.ledger, "feature blocks",
                                 rows_per_block(columns) * columns);
    memory::Buffer<std::byte> record(context.ledger, "feature blocks", record_bytes);
    for (;;) {
      const InputGraph::Rows rows = source.next_rows(values.span());
      if (rows.count == 0 || team.stopping()) return;
      throw_if_interrupted();
      for (uint64_t i = 0; i < rows.count; ++i) {
        const uint32_t position = positions[rows.first_node + i];
        std::memcpy(record.data(), &position, sizeof position);
        vanished += encoder.encode(rows.first_node + i, values.span().subspan(i * columns, columns),
                                   record.data() + sizeof position);
        spill.append(position / bucket_rows, record.first(record_bytes));
      }
      rows_read += rows.count;
      context.progress.add(rows.count);
    }
  });
  spill.seal();
  if (rows_read != nodes) {
    fail(ErrorKind::internal, "the source gave {} feature rows for {} nodes", rows_read.load(),
         nodes);
  }

  io::FileWriter& file = writer.open_file(graph::features_name(type));
  context.progress.start_step("writing features", "rows", nodes);
  struct Workspace {
    memory::Buffer<std::byte> rows;
    memory::Buffer<std::byte> chunk;
  };
  parallel_ordered(
      plan.threads, spill.buckets(),
      [&] {
        return Workspace{{context.ledger, "feature blocks", bucket_rows * row_bytes},
                         {context.ledger, "feature blocks", plan.chunk_bytes}};
      },
      [&](Workspace& workspace, size_t bucket) {
        spill.drain(bucket, workspace.chunk.span(), [&](std::span<const std::byte> records) {
          for (; !records.empty(); records = records.subspan(record_bytes)) {
            uint32_t position = 0;
            std::memcpy(&position, records.data(), sizeof position);
            std::memcpy(workspace.rows.data() + (position - bucket * bucket_rows) * row_bytes,
                        records.data() + sizeof position, record_bytes - sizeof position);
          }
        });
      },
      [&](Workspace& workspace, size_t bucket) {
        const uint64_t rows = std::min(bucket_rows, nodes - bucket * bucket_rows);
        file.append(workspace.rows.first(rows * row_bytes));
        context.progress.add(rows);
      });
  writer.close_file();
  return vanished;
}

}  // namespace plimsoll::ingest
