#include "serve/address.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace plimsoll::serve {
namespace {

constexpr size_t kIdDigits = 16;
constexpr std::string_view kRunPrefix = "/run/";

bool is_id(std::string_view text) {
  return text.size() == kIdDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
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

std::string machine_name() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string host_in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string event_text(std::string_view event, std::string_view data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, data);
}

}  // namespace plimsoll::serve
