#include "pickle/object.h"

#include <array>

namespace plimsoll::pickle {

std::string_view type_name(const Object& object) {
  constexpr std::array<std::string_view, std::variant_size_v<decltype(Object::any)>> kNames = {
      "None", "bool",  "int",  "float",   "str",     "Tensor",
      "list", "tuple", "dict", "storage", "function"};
  return kNames.at(object.any.index());
}

}  // namespace plimsoll::pickle
