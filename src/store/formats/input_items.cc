#include "formats/input_items.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "formats/byte_stream.h"
#include "formats/recognise.h"

namespace plimsoll::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kEndings = {".csv.gz", ".csv", ".npy",
                                                      ".npz",    ".gz",  ".txt"};
template <typename Range, typename Value>
bool contains(const Range& range, const Value& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

// edge_weight, edge_attr, edge-feat, edge_type: values of edges, but not the list of edges itself.
bool is_edge_data(std::string_view name) {
  return name.starts_with("edge_") && name != "edge_index";
}

// An array under any other name that has a value or a row for each edge: "weight", "adj_t".
bool has_row_per_edge(const InputItem& item, std::optional<uint64_t> edges) {
  if (!edges || item.ending != ".npy" || item.name.starts_with("node_")) return false;
  try {
    const NpyHeader header = parse_npy_header(*open_npy(item.location));
    const size_t extents = std::min<size_t>(2, header.shape.size());
    return contains(std::span(header.shape).first(extents), *edges);
  } catch (const Error&) {
    return false;  // nobody wanted to read it: it is named in a note
  }
}

struct SplitChoice {
  std::string stem;
  std::string ending;
};

SplitChoice split_name(std::string_view file_name) {
  for (const std::string_view ending : kEndings) {
    if (!file_name.ends_with(ending) || file_name.size() == ending.size()) continue;
    return {std::string(file_name.substr(0, file_name.size() - ending.size())),
            std::string(ending)};
  }
  return {std::string(file_name), ""};
}

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

Ignored::Ignored(const std::vector<std::string>& names) {
  for (const std::string& name : names) names_.insert(with_underscores(split_name(name).stem));
}

bool Ignored::has(const std::string& name) {
  if (!names_.contains(name)) return false;
  met_.insert(name);
  return true;
}

void Ignored::check_all_met(std::string_view where) const {
  for (const std::string& name : names_) {
    if (met_.contains(name)) continue;
    fail(ErrorKind::usage, "--ignore {}: {} holds nothing of that name", name, where);
  }
}

void NotRead::add(const NotRead& other) {
  ignored.insert(ignored.end(), other.ignored.begin(), other.ignored.end());
  unknown.insert(unknown.end(), other.unknown.begin(), other.unknown.end());
}

std::string InputItem::shown() const {
  if (location.member.empty()) return location.file.filename().string();
  return ending == ".npy" ? split_name(location.member).stem : location.member;
}

void InputItems::add(InputItem item) {
  const bool ignored = ignored_.has(item.name);
  entries_.push_back({std::move(item), ignored, false});
}

void InputItems::add_archive(const fs::path& file) {
  for (const std::string& member : zip_members(file)) {
    SplitChoice name = split_name(member);
    add({with_underscores(name.stem), name.ending, {file, member}});
  }
}

void InputItems::add_folder(const fs::path& folder) {
  for (const std::string& file : list_entries(folder)) {
    SplitChoice name = split_name(file);
    add({with_underscores(name.stem), name.ending, {folder / file, ""}});
  }
}

std::optional<InputItem> InputItems::take(ItemNames names, ItemNames endings) {
  Entry* found = nullptr;
  for (const std::string_view ending : endings) {
    for (Entry& entry : entries_) {
      if (entry.ignored || entry.item.ending != ending || !contains(names, entry.item.name)) {
        continue;
      }
      if (found != nullptr && found->item.name != entry.item.name) {
        fail(ErrorKind::input,
             "{} and {} are two names for the same thing; leave one out: {} --ignore {} --out "
             "NAME.plim",
             found->item.words(), entry.item.words(), command_, entry.item.shown());
      }
      if (found == nullptr) found = &entry;
    }
  }
  if (found == nullptr) return std::nullopt;
  found->taken = true;
  return found->item;
}

void InputItems::take_all_named(std::string_view name) {
  for (Entry& entry : entries_) entry.taken |= entry.item.name == name;
}

std::string InputItems::list() const {
  std::vector<std::string> shown;
  for (const Entry& entry : entries_) {
    if (!entry.ignored) shown.push_back(entry.item.shown());
  }
  return shown.empty() ? "nothing" : fmt::format("{}", fmt::join(shown, ", "));
}

NotRead InputItems::rest(std::optional<uint64_t> edges) const {
  NotRead rest;
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    if (!command_.empty() && !entry.ignored &&
        (is_edge_data(entry.item.name) || has_row_per_edge(entry.item, edges))) {
      fail(ErrorKind::input,
           "{} belongs to the edges, and no model here uses weights, types or features of edges; "
           "to import the graph without it: {} --ignore {} --out NAME.plim",
           entry.item.words(), command_, entry.item.shown());
    }
    (entry.ignored ? rest.ignored : rest.unknown).push_back(entry.item.shown());
  }
  return rest;
}

}  // namespace plimsoll::formats
