#include "formats/npz_members.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "formats/zip_stream.h"

namespace plimsoll::formats {

NpzMembers::NpzMembers(std::filesystem::path file)
    : file_(std::move(file)), members_(zip_members(file_)) {}

std::optional<NpyLocation> NpzMembers::find(std::string_view array) const {
  const std::string member = fmt::format("{}.npy", array);
  if (std::find(members_.begin(), members_.end(), member) == members_.end()) return std::nullopt;
  return NpyLocation{file_, member};
}

NpyLocation NpzMembers::require(std::string_view array) const {
  if (auto location = find(array)) return *location;
  fail(ErrorKind::input,
       "{} has no array {}; its members are: {} (in an npz, PyG's x is node_feat, its y is "
       "node_label)",
       file_.string(), array,
       members_.empty() ? "none" : fmt::format("{}", fmt::join(members_, ", ")));
}

}  // namespace plimsoll::formats
