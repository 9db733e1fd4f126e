#include "serve/access.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/error.h"

namespace plimsoll::serve {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

bool is_address(const std::string& text) {
  std::array<uint8_t, sizeof(in6_addr)> address = {};
  return ::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

}  // namespace

bool is_loopback(std::string_view host) {
  const std::string name = lower(host);
  in_addr address = {};
  return name == "localhost" || name == "::1" ||
         (::inet_pton(AF_INET, name.c_str(), &address) == 1 &&
          ntohl(address.s_addr) >> 24U == 127U);
}

bool is_wildcard(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

AccessPolicy policy_for(std::string_view host, std::string_view machine, std::string token) {
  AccessPolicy policy{.token = std::move(token)};
  if (is_wildcard(host)) {
    policy.any_address = true;
    if (!machine.empty()) policy.names.push_back(lower(machine));
  } else if (!is_loopback(host)) {
    policy.names.push_back(lower(host));
  }
  return policy;
}

std::string host_in(std::string_view header) {
  const std::string text = lower(header);
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string::npos) return "";
    const std::string_view rest = std::string_view(text).substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return "";
    const std::string address = text.substr(1, end - 1);
    return is_address(address) ? address : "";
  }
  const size_t colon = text.find(':');
  if (colon != std::string::npos && !is_port(std::string_view(text).substr(colon + 1))) return "";
  const std::string name = text.substr(0, colon);
  return is_name(name) ? name : "";
}

bool allows_host(const AccessPolicy& policy, std::string_view header) {
  const std::string name = host_in(header);
  if (name.empty()) return false;
  if (is_loopback(name) || (policy.any_address && is_address(name))) return true;
  return std::find(policy.names.begin(), policy.names.end(), name) != policy.names.end();
}

bool allows_token(const AccessPolicy& policy, std::string_view given) {
  if (policy.token.empty()) return true;
  if (given.size() != policy.token.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    difference |=
        static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(policy.token[i]);
  }
  return difference == 0;
}

std::string make_token() {
  std::array<uint8_t, 16> bytes = {};
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("get random bytes from", "the kernel", errno);
    filled += static_cast<size_t>(count);
  }
  std::string token;
  for (const uint8_t byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

std::string cookie_in(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const size_t end = std::min(header.find(';'), header.size());
    std::string_view pair = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return std::string(pair.substr(equals + 1));
    }
  }
  return "";
}

}  // namespace plimsoll::serve
