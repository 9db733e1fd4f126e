#include "pickle/pickle.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/error.h"
#include "pickle/parser.h"

namespace plimsoll::pickle {

static_assert(sizeof(Object) + 4 * sizeof(void*) <= kInstructionBytes);

std::string_view type_name(const Object& object) {
  constexpr std::array<std::string_view, std::variant_size_v<decltype(Object::any)>> kNames = {
      "None", "bool",  "int",  "float",   "str",     "Tensor",
      "list", "tuple", "dict", "storage", "function"};
  return kNames.at(object.any.index());
}

Pickle::Pickle(std::string_view bytes, memory::Ledger& ledger) : ledger_(ledger) {
  root_ = Parser(bytes, *this).run();
}

void Pickle::reserve(uint64_t bytes) {
  reserved_bytes_ += bytes;
  if (reserved_bytes_ <= lease_.bytes()) return;
  if (reserved_bytes_ > kMostObjectBytes) {
    fail(ErrorKind::input, "its pickle needs more than {} of memory, which is the limit",
         format_bytes(kMostObjectBytes));
  }
  lease_.merge(ledger_.lease("checkpoint values", std::max(bytes, kLeaseStepBytes)));
}

}  // namespace plimsoll::pickle
