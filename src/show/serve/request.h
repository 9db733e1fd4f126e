// What a request asks for, and whether it may. Pure, except for make_token().
//
// A path names a run by an id that is looked up in the list of runs; no part of a path becomes part
// of a file name.
//
// A browser on the user's machine is the attacker's tool: a foreign page can make it send requests
// here. The check of the Host header stops pages whose own name was pointed at this address (DNS
// rebinding). All other foreign pages may send requests, but browsers do not let them read answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::serve {

enum class Part { document, body, events };

struct PageAddress {
  enum class Kind { nothing, list, run, metrics, script, style, icon };
  Kind kind = Kind::nothing;
  std::string id;  // of a run: 16 hexadecimal digits
  Part part = Part::document;
};

// "/", "/body", "/events"; "/run/ID", "/run/ID/body", "/run/ID/events"; "/metrics", "/page.js",
// "/page.css", "/icon.svg". For all others the kind is `nothing`.
PageAddress address_of(std::string_view path);

// The id of a run, from its path below the folder: always the same for the same path.
std::string id_of(std::string_view name);

// The path of a run's page.
std::string page_of(std::string_view id);

// The host as an address has it: a colon of IPv6 needs brackets around it.
std::string host_in_address(const std::string& host);

// One server-sent event. `data` must have no line ends.
std::string event_text(std::string_view event, std::string_view data);

struct AccessPolicy {
  std::vector<std::string>
      names;                 // that a Host header may have, beside those of loopback; lower case
  bool any_address = false;  // also every literal address: rebinding needs a name
  std::string token;         // empty: none is needed
};

// Whether this is an address of loopback, or the name of one.
bool is_loopback(std::string_view host);
// "0.0.0.0" or "::": all addresses of the machine.
bool is_wildcard(std::string_view host);

// For a server that listens on `host`. `machine` is the name of this machine.
AccessPolicy policy_for(std::string_view host, std::string_view machine, std::string token);

// The name in a Host header, without port and brackets, in lower case; empty if it is malformed.
std::string host_in(std::string_view header);
bool allows_host(const AccessPolicy& policy, std::string_view header);

// Whether it is the token, or none is needed. Takes the same time for all texts of its length.
bool allows_token(const AccessPolicy& policy, std::string_view given);

// 32 hexadecimal digits that cannot be guessed. Throws Error{io}.
std::string make_token();

// The value of a cookie in a Cookie header; empty if it is not there.
std::string cookie_in(std::string_view header, std::string_view name);

}  // namespace plimsoll::serve
