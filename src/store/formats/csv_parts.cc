#include "formats/csv_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kTakenTextBytes = kMiB;
constexpr size_t kTextPieceValues = 16 * kKiB;

std::string line_words(const std::filesystem::path& file, uint64_t line) {
  return fmt::format("{}, line {}", file.string(), line);
}

[[noreturn]] void fail_row_count(const std::string& file, uint64_t found,
                                 const StatedCount& stated) {
  fail(ErrorKind::input, "{} has {} rows, but {} gives {}; the files are not from one graph", file,
       found, stated.stated_by, stated.count);
}

// The next line; empty when as many as stated have been read. Throws if the file ends before that.
std::optional<CsvLine> next_stated_line(CsvReader& reader, uint64_t rows_read,
                                        const StatedCount& stated) {
  if (rows_read == stated.count) return std::nullopt;
  auto line = reader.next();
  if (!line) fail_row_count(reader.name(), rows_read, stated);
  return line;
}

// After the last of the stated lines: throws if the file has more lines.
void check_end(CsvReader& reader, uint64_t rows_read, const StatedCount& stated) {
  if (rows_read != stated.count) return;
  const uint64_t beyond = reader.count_rest();
  if (beyond > 0) fail_row_count(reader.name(), rows_read + beyond, stated);
}

// "edges.csv (header: src,dst)"
std::string describe_file(const std::filesystem::path& file,
                          const std::vector<std::string>& header) {
  std::string name = file.filename().string();
  if (header.empty()) return name;
  constexpr size_t kShown = 6;
  const size_t shown = std::min(header.size(), kShown);
  return fmt::format("{} (header: {}{})", name,
                     fmt::join(header.begin(), header.begin() + static_cast<ptrdiff_t>(shown), ","),
                     shown < header.size() ? ",..." : "");
}

// The header and the first line of values.
struct CsvHead {
  std::vector<std::string> header;
  std::string first_line;  // after the header; empty if there is none
  uint64_t first_number = 1;

  size_t columns() const { return first_line.empty() ? 0 : count_fields(first_line); }
};

CsvHead read_head(const std::filesystem::path& file) {
  CsvReader reader(open_text(file));
  CsvHead head = {reader.header(), "", reader.first_line()};
  if (const auto line = reader.next()) head.first_line = line->text;
  return head;
}

bool is_one_of(std::string name, std::initializer_list<std::string_view> names) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_edge_columns(const std::filesystem::path& file, const CsvHead& head) {
  if (head.columns() > 2) {
    fail(ErrorKind::input,
         "{} has {} columns{}, but an edge is source,destination; weights and other values of "
         "edges are not used, leave them out: cut -d, -f1,2",
         line_words(file, head.first_number), head.columns(),
         head.header.empty() ? "" : fmt::format(" ({})", fmt::join(head.header, ",")));
  }
  const bool reversed = head.header.size() == 2 &&
                        is_one_of(head.header[0], {"dst", "dest", "destination", "target", "to"});
  if (reversed) {
    fail(ErrorKind::input,
         "{}: the header '{}' names the destination first, but an edge is source,destination; "
         "swap the columns, or remove the header if its names are wrong",
         line_words(file, 1), fmt::join(head.header, ","));
  }
}

// The order of the lines gives the node ids; a column of ids would be taken for a feature.
void check_row_columns(const std::filesystem::path& file, const CsvHead& head) {
  const bool has_ids =
      head.header.size() > 1 &&
      is_one_of(head.header[0], {"id", "node", "node_id", "nodeid", "node_idx", "index", "idx"});
  if (has_ids) {
    fail(ErrorKind::input,
         "{}: by the header, the first column is '{}'; lines are nodes in ascending order from 0 "
         "and have no column of ids: sort the lines by it, then leave it out: cut -d, -f2-",
         line_words(file, 1), head.header[0]);
  }
}

// pandas writes the header 0,1,2,... for columns without names; it would be taken for values.
void check_not_counted(const std::filesystem::path& file, const CsvHead& head) {
  constexpr size_t kFewest = 3;
  std::string counted = "0";
  for (size_t i = 1; i < head.columns(); ++i) counted += fmt::format(",{}", i);
  std::string line = head.first_line;
  if (line.ends_with('\r')) line.pop_back();
  if (!head.header.empty() || head.columns() < kFewest || line != counted) return;
  fail(ErrorKind::input,
       "{} counts from 0 to {}: it looks like the header that pandas writes for columns without "
       "names; remove the line (header=False), or write its first value as 0.0 if it is a node's",
       line_words(file, 1), head.columns() - 1);
}

class CsvEdges final : public EdgeReader {
 public:
  CsvEdges(std::filesystem::path file, uint64_t nodes, StatedCount edges)
      : file_(std::move(file)), nodes_(nodes), edges_(std::move(edges)), reader_(open_text(file_)) {
    const CsvHead head = read_head(file_);
    check_edge_columns(file_, head);
    if (head.first_line.empty()) return;
    // Parse the first line now, so that a file that holds no edges is refused early.
    std::array<uint32_t, 2> ends = {};
    parse_ids(file_.string(), {head.first_line, head.first_number}, ends, UINT32_MAX);
  }

  uint64_t count() const override { return edges_.count; }
  std::string place(uint64_t row) const override {
    return line_words(file_, reader_.first_line() + row);
  }
  std::string describe() const override { return describe_file(file_, reader_.header()); }

  size_t next(std::span<uint32_t> sources, std::span<uint32_t> destinations) override {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    while (count < sources.size()) {
      const auto line = next_stated_line(reader_, next_edge_, edges_);
      if (!line) break;
      ++next_edge_;  // even if parsing fails: other threads must not find too few at the end
      std::array<uint32_t, 2> ends = {};
      parse_ids(reader_.name(), *line, ends, nodes_);
      sources[count] = ends[0];
      destinations[count] = ends[1];
      ++count;
      check_end(reader_, next_edge_, edges_);
    }
    return count;
  }

 private:
  const std::filesystem::path file_;
  const uint64_t nodes_;
  const StatedCount edges_;
  std::mutex mutex_;  // guards what follows, except the reader's name and header
  CsvReader reader_;
  uint64_t next_edge_ = 0;
};

class CsvFeatures final : public FeatureReader {
 public:
  CsvFeatures(std::filesystem::path file, StatedCount nodes)
      : file_(std::move(file)), nodes_(std::move(nodes)), reader_(open_text(file_)) {
    const CsvHead head = read_head(file_);
    columns_ = static_cast<uint32_t>(head.columns());
    if (columns_ == 0) {
      fail(ErrorKind::input, "{} is empty, one row per node is expected", file_.string());
    }
    check_row_columns(file_, head);
    check_not_counted(file_, head);
    // Parse the first line now: an unrecognised header should be reported as such, and not as one
    // line too many.
    std::vector<float> values(columns_);
    parse_features(file_.string(), {head.first_line, head.first_number}, values);
  }

  uint32_t columns() const override { return columns_; }
  std::string place(uint64_t row) const override {
    return line_words(file_, reader_.first_line() + row);
  }
  std::string describe() const override { return describe_file(file_, reader_.header()); }

  ingest::InputGraph::Rows next(std::span<float> values) override {
    const TakenLines taken = take(values.size() / columns_);
    size_t begin = 0;
    for (size_t i = 0; i < taken.ends.size(); ++i) {
      const auto text = std::string_view(taken.text).substr(begin, taken.ends[i] - begin);
      parse_features(reader_.name(), {text, reader_.first_line() + taken.first_row + i},
                     values.subspan(i * columns_, columns_));
      begin = taken.ends[i];
    }
    return {taken.first_row, taken.ends.size()};
  }

 private:
  struct TakenLines {
    uint64_t first_row = 0;
    std::string text;
    std::vector<size_t> ends;  // of each line within the text
  };

  // Only this is under the lock, because parsing takes longer than reading.
  TakenLines take(size_t max_lines) {
    TakenLines taken;
    const std::lock_guard lock(mutex_);
    taken.first_row = next_row_;
    while (taken.ends.size() < max_lines && taken.text.size() < kTakenTextBytes) {
      const auto line = next_stated_line(reader_, next_row_, nodes_);
      if (!line) break;
      taken.text.append(line->text);
      taken.ends.push_back(taken.text.size());
      check_end(reader_, ++next_row_, nodes_);
    }
    return taken;
  }

  const std::filesystem::path file_;
  const StatedCount nodes_;
  uint32_t columns_ = 0;
  std::mutex mutex_;  // guards what follows, except the reader's name and header
  CsvReader reader_;
  uint64_t next_row_ = 0;
};

class CsvLabels final : public LabelReader {
 public:
  CsvLabels(std::filesystem::path file, StatedCount nodes)
      : file_(std::move(file)), nodes_(std::move(nodes)), head_(read_head(file_)) {
    check_row_columns(file_, head_);
  }

  std::string place(uint64_t row) const override {
    return line_words(file_, head_.first_number + row);
  }
  std::string describe() const override { return describe_file(file_, head_.header); }

  void read(const ingest::InputGraph::LabelSink& sink) const override {
    CsvReader reader(open_text(file_));
    std::vector<int32_t> piece;
    piece.reserve(kTextPieceValues);
    uint64_t row = 0;
    while (const auto line = next_stated_line(reader, row, nodes_)) {
      piece.push_back(parse_label(reader.name(), *line));
      check_end(reader, ++row, nodes_);
      if (piece.size() < kTextPieceValues) continue;
      sink(piece);
      piece.clear();
    }
    if (!piece.empty()) sink(piece);
  }

 private:
  const std::filesystem::path file_;
  const StatedCount nodes_;
  const CsvHead head_;
};

class CsvIds final : public IdListReader {
 public:
  CsvIds(std::filesystem::path file, uint64_t nodes)
      : file_(std::move(file)), nodes_(nodes), head_(read_head(file_)) {}

  std::string place(uint64_t row) const override {
    return line_words(file_, head_.first_number + row);
  }
  std::string describe() const override { return describe_file(file_, head_.header); }

  void read(const Sink& sink) const override {
    CsvReader reader(open_text(file_));
    uint64_t row = 0;
    while (const auto line = reader.next()) {
      std::array<uint32_t, 1> id = {};
      parse_ids(reader.name(), *line, id, nodes_);
      sink(row++, id[0]);
    }
  }

 private:
  const std::filesystem::path file_;
  const uint64_t nodes_;
  const CsvHead head_;
};

}  // namespace

StatedCount count_csv_lines(const std::filesystem::path& file, Progress* progress) {
  constexpr uint64_t kLinesPerStep = 4096;
  CsvReader reader(open_text(file));
  if (progress != nullptr) {
    progress->start_step("counting lines", "bytes", std::filesystem::file_size(file));
  }
  uint64_t lines = 0;
  uint64_t told_bytes = 0;
  while (reader.next()) {
    if (++lines % kLinesPerStep != 0 || progress == nullptr) continue;
    progress->add(reader.file_position() - told_bytes);
    told_bytes = reader.file_position();
  }
  if (progress != nullptr) progress->finish_step();
  return {lines, fmt::format("the number of lines of {}", file.string())};
}

StatedCount read_csv_count(const std::filesystem::path& file) {
  CsvReader reader(open_text(file));
  const auto line = reader.next();
  const uint64_t count = line ? parse_count(reader.name(), *line) : 0;
  const uint64_t lines = (line ? 1 : 0) + reader.count_rest();
  if (lines != 1) {
    fail(ErrorKind::input,
         "{} has {} lines, a single count is expected: the folder must hold one "
         "graph",
         file.string(), lines);
  }
  return {count, file.string()};
}

std::unique_ptr<EdgeReader> open_csv_edges(const std::filesystem::path& file, uint64_t nodes,
                                           StatedCount edges) {
  return std::make_unique<CsvEdges>(file, nodes, std::move(edges));
}

std::unique_ptr<FeatureReader> open_csv_features(const std::filesystem::path& file,
                                                 StatedCount nodes) {
  return std::make_unique<CsvFeatures>(file, std::move(nodes));
}

std::unique_ptr<LabelReader> open_csv_labels(const std::filesystem::path& file, StatedCount nodes) {
  return std::make_unique<CsvLabels>(file, std::move(nodes));
}

std::unique_ptr<IdListReader> open_csv_ids(const std::filesystem::path& file, uint64_t nodes) {
  return std::make_unique<CsvIds>(file, nodes);
}

}  // namespace plimsoll::formats
