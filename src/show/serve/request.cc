#include "serve/request.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.h"

namespace plimsoll::serve {
namespace {

constexpr size_t kIdDigits = 16;
constexpr std::string_view kRunPrefix = "/run/";

bool is_id(std::string_view text) {
  return text.size() == kIdDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

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

PageAddress address_of(std::string_view path) {
  using Kind = PageAddress::Kind;
  static constexpr std::array<std::pair<std::string_view, Kind>, 5> kFixed = {
      {{"/", Kind::list},
       {"/metrics", Kind::metrics},
       {"/page.js", Kind::script},
       {"/page.css", Kind::style},
       {"/icon.svg", Kind::icon}}};
  for (const auto& [name, kind] : kFixed) {
    if (path == name) return {.kind = kind};
  }
  if (path == "/body") return {.kind = Kind::list, .part = Part::body};
  if (path == "/events") return {.kind = Kind::list, .part = Part::events};
  if (!path.starts_with(kRunPrefix)) return {};
  path.remove_prefix(kRunPrefix.size());
  const std::string_view id = path.substr(0, kIdDigits);
  const std::string_view rest = path.substr(id.size());
  if (!is_id(id)) return {};
  PageAddress address{.kind = Kind::run, .id = std::string(id)};
  if (rest.empty()) return address;
  if (rest == "/body") {
    address.part = Part::body;
  } else if (rest == "/events") {
    address.part = Part::events;
  } else {
    return {};
  }
  return address;
}

std::string id_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::string page_of(std::string_view id) { return fmt::format("{}{}", kRunPrefix, id); }

std::string host_in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string event_text(std::string_view event, std::string_view data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, data);
}

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
