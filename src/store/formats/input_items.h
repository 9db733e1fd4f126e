// What an input holds, by name: the members of npz archives and the files of a folder. Whoever
// opens a graph takes what it knows; the rest is named to the user, so that nothing is dropped in
// silence.
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

// Names that the user wants left out (--ignore). "edge-feat.csv.gz", "edge-feat" and "edge_feat"
// are one name.
class Ignored {
 public:
  explicit Ignored(const std::vector<std::string>& names);

  bool has(const std::string& name);
  // Throws Error{usage} for a name that nothing in `where` has.
  void check_all_met(std::string_view where) const;

 private:
  std::set<std::string> names_;
  std::set<std::string> met_;
};

// What was there and is not part of the store, as users know it: "edge_weight".
struct NotRead {
  std::vector<std::string> ignored;  // as the user wished
  std::vector<std::string> unknown;

  void add(const NotRead& other);
};

struct InputItem {
  std::string name;    // without ending, dashes as underscores: "node_label"
  std::string ending;  // ".npy", ".csv.gz"; empty where it is another
  NpyLocation location;

  std::string words() const { return location.words(); }
  std::string shown() const;  // "edge_weight" of an archive, "edge-feat.csv.gz" of a folder
};

using ItemNames = std::span<const std::string_view>;

// Must not outlive its Ignored.
class InputItems {
 public:
  // `command` is how the user imports this, "plimsoll import npz my.npz"; empty where these are not
  // the files of a graph.
  InputItems(std::string command, Ignored& ignored)
      : command_(std::move(command)), ignored_(ignored) {}

  void add_archive(const std::filesystem::path& file);
  // Files and folders; a missing folder holds none.
  void add_folder(const std::filesystem::path& folder);

  // The item that has one of these names and one of these endings, of which the first counts most.
  // Error{input} where two of the names are there.
  std::optional<InputItem> take(ItemNames names, ItemNames endings);
  // Passes over an item that something else reads.
  void take_all_named(std::string_view name);

  // What is there, for messages: "edge_index, x"; "nothing".
  std::string list() const;

  // What nobody took. Weights and features of edges are Error{input}: a graph without them is
  // another graph, so leaving them out is the user's choice.
  NotRead rest() const;

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
