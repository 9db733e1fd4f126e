// What the paths of requests name. A run is named by an id that is looked up in the list of runs;
// no part of a path becomes part of a file name. Pure, but for the machine's name.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::serve {

enum class Part { document, body, events };

struct PageAddress {
  enum class Kind { nothing, list, run, metrics, script, style, icon };
  Kind kind = Kind::nothing;
  std::string id;  // of a run: 16 hexadecimal digits
  Part part = Part::document;
};

// "/", "/body", "/events"; "/run/ID", "/run/ID/body", "/run/ID/events"; "/metrics", "/page.js",
// "/page.css", "/icon.svg". Everything else is nothing.
PageAddress address_of(std::string_view path);

// The id of a run, from its path below the folder: always the same for the same path.
std::string id_of(std::string_view name);

// The path of a run's page.
std::string page_of(std::string_view id);

// This machine's name for other machines; empty if it has none.
std::string machine_name();
// The host as an address has it: a colon of IPv6 needs brackets around it.
std::string host_in_address(const std::string& host);

// One server-sent event. `data` must have no line ends.
std::string event_text(std::string_view event, std::string_view data);

}  // namespace plimsoll::serve
