// Who may read the pages: the host names that a request may name, and the token. Pure, but for
// make_token().
//
// A browser on the user's machine is the attacker's tool: a foreign page can make it send requests
// here. The check of the Host header stops pages whose own name was pointed at this address (DNS
// rebinding). All other foreign pages may send requests, but browsers do not let them read answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::serve {

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
