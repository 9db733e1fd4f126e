#include "ranks/group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "base/error.h"

namespace plimsoll::ranks {

RankProcess this_process(const Host& host) {
  const std::string name = host_name();
  return {.host = name.empty() ? "unknown host" : name,
          .machine = fmt::format("{}/{}", boot_id(host), pid_namespace(host)),
          .pid = ::getpid()};
}

std::string to_text(const RankProcess& process) {
  return fmt::format("{}\n{}\n{}", process.pid, process.machine, process.host);
}

RankProcess parse_process(std::string_view text) {
  const size_t first = text.find('\n');
  const size_t second = first == std::string_view::npos ? first : text.find('\n', first + 1);
  RankProcess process;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), process.pid);
  if (second == std::string_view::npos || parsed.ec != std::errc()) {
    fail(ErrorKind::internal, "another rank describes itself as '{}'", text);
  }
  process.machine = text.substr(first + 1, second - first - 1);
  process.host = text.substr(second + 1);
  return process;
}

std::vector<unsigned> ranks_of_host(const std::vector<RankProcess>& all, unsigned rank) {
  std::vector<unsigned> same;
  for (unsigned other = 0; other < all.size(); ++other) {
    if (all[other].machine == all.at(rank).machine) same.push_back(other);
  }
  return same;
}

bool Group::agree(bool mine) { return exchange(mine ? "yes" : "no").front() == "yes"; }

std::string rank_name(const Group& group, unsigned rank) {
  return fmt::format("rank {} on {}", rank, group.processes().at(rank).host);
}

}  // namespace plimsoll::ranks
