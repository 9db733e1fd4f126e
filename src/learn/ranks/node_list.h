// Slurm's lists of nodes and of tasks per node, in their short form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::ranks {

// The first host of a list: "gpu[03-05,9],login1" -> "gpu03". Nothing if the text is no such list.
std::optional<std::string> first_host(std::string_view list);

}  // namespace plimsoll::ranks
