#include "ingest/input_graph.h"

#include "base/error.h"

namespace plimsoll::ingest {

void InputGraph::rows_of(std::span<const uint32_t> /*nodes*/, std::span<float> /*values*/) const {
  fail(ErrorKind::internal, "this source reads its rows in order only");
}

}  // namespace plimsoll::ingest
