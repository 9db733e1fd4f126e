// Arrays of an npz by name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/npy_parts.h"

namespace plimsoll::formats {

class NpzMembers {
 public:
  explicit NpzMembers(std::filesystem::path file);

  // "edge_index" for the member edge_index.npy.
  std::optional<NpyLocation> find(std::string_view array) const;
  // Throws, listing what is there.
  NpyLocation require(std::string_view array) const;

 private:
  std::filesystem::path file_;
  std::vector<std::string> members_;
};

}  // namespace plimsoll::formats
