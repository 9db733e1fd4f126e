// The names of number types in files of torch.save: torch.FloatStorage and so on.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <string_view>

namespace plimsoll::train {

struct StorageType {
  std::string_view name;  // in the Python module torch
  at::ScalarType type;
};

constexpr std::array<StorageType, 12> kStorageTypes = {{
    {"FloatStorage", at::ScalarType::Float},
    {"DoubleStorage", at::ScalarType::Double},
    {"HalfStorage", at::ScalarType::Half},
    {"BFloat16Storage", at::ScalarType::BFloat16},
    {"LongStorage", at::ScalarType::Long},
    {"IntStorage", at::ScalarType::Int},
    {"ShortStorage", at::ScalarType::Short},
    {"CharStorage", at::ScalarType::Char},
    {"ByteStorage", at::ScalarType::Byte},
    {"BoolStorage", at::ScalarType::Bool},
    {"ComplexFloatStorage", at::ScalarType::ComplexFloat},
    {"ComplexDoubleStorage", at::ScalarType::ComplexDouble},
}};

}  // namespace plimsoll::train
