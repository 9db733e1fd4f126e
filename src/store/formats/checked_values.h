// What makes an integer a node's id or a number a label, and the words where it is none; npy and
// csv differ only in how they come by the number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "graph/meta.h"

namespace plimsoll::formats {

constexpr int32_t kUnlabelled = -1;
constexpr int32_t kMaxLabel = graph::kMostClasses - 1;

template <typename Integer>
[[noreturn]] void fail_id(std::string_view place, Integer id, uint64_t nodes) {
  if (id < Integer{0}) {
    fail(ErrorKind::input, "{}: id {}; ids are whole numbers from 0", place, id);
  }
  fail(ErrorKind::input, "{}: id {} but there are only {} nodes; ids count from 0", place, id,
       nodes);
}

template <typename Number>
[[noreturn]] void fail_label(std::string_view place, Number label) {
  fail(ErrorKind::input,
       "{}: label {}; labels are whole numbers from 0 to {}, unlabelled is -1 or NaN", place, label,
       kMaxLabel);
}

// Nothing for a number that is no label.
std::optional<int32_t> label_of(int64_t number);
std::optional<int32_t> label_of(uint64_t number);
std::optional<int32_t> label_of(double number);

}  // namespace plimsoll::formats
