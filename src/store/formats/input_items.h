// The contents of an input by name: the members of npz archives and the files of a folder. Code
// that opens a graph takes the items it knows; the rest is reported to the user, so that nothing is
// ignored silently.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/npy_parts.h"

namespace plimsoll::formats {

// Names that the user wants to leave out (--ignore). "edge-feat.csv.gz", "edge-feat" and
// "edge_feat" are the same name.
class Ignored {
 public:
  explicit Ignored(const std::vector<std::string>& names);

  bool has(const std::string& name);
  // Throws Error{usage} for a name that has() never matched. `where` is for the message.
  void check_all_met(std::string_view where) const;

 private:
  std::set<std::string> names_;
  std::set<std::string> met_;
};

// Items of the input that are not part of the store, with the names that users know: "edge_weight".
struct NotRead {
  std::vector<std::string> ignored;  // left out with --ignore
  std::vector<std::string> unknown;

  void add(const NotRead& other);
};

struct InputItem {
  std::string name;    // without ending, dashes as underscores: "node_label"
  std::string ending;  // ".npy", ".csv.gz"; empty if it is not a known one
  NpyLocation location;

  std::string words() const { return location.words(); }
  std::string shown() const;  // "edge_weight" in an archive, "edge-feat.csv.gz" in a folder
};

using ItemNames = std::span<const std::string_view>;

// Keeps a reference to its Ignored, which must live longer.
class InputItems {
 public:
  // `command` is the command that imports this input, for messages: "plimsoll import npz my.npz".
  // It is empty if these are not the files of a graph.
  InputItems(std::string command, Ignored& ignored)
      : command_(std::move(command)), ignored_(ignored) {}

  void add_archive(const std::filesystem::path& file);
  // Adds the files and folders in `folder`; none if it is missing.
  void add_folder(const std::filesystem::path& folder);

  // Takes the item with one of these names and one of these endings; earlier endings are preferred.
  // Throws Error{input} if items with two of the names exist.
  std::optional<InputItem> take(ItemNames names, ItemNames endings);
  // Marks items as taken that other code reads.
  void take_all_named(std::string_view name);

  // All items, for messages: "edge_index, x"; "nothing".
  std::string list() const;

  // The items that were not taken. Throws Error{input} for weights or features of edges that the
  // user did not ignore: without them it would be a different graph, so the user must decide. They
  // are known by their names, and arrays by their shape if the number of edges is given.
  NotRead rest(std::optional<uint64_t> edges = std::nullopt) const;

 private:
  struct Entry {
    InputItem item;
    bool ignored = false;
    bool taken = false;
  };
  void add(InputItem item);

  std::string command_;
  Ignored& ignored_;
  std::deque<Entry> entries_;
};

}  // namespace plimsoll::formats
