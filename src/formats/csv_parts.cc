#include "formats/csv_parts.h"

#include <array>
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
  fail(ErrorKind::input, "{} has {} rows, but {} gives {}; the files are not of one graph", file,
       found, stated.stated_by, stated.count);
}

// The next of as many lines as stated; nothing once all have been read.
std::optional<CsvLine> next_stated_line(CsvReader& reader, uint64_t rows_read,
                                        const StatedCount& stated) {
  if (rows_read == stated.count) return std::nullopt;
  auto line = reader.next();
  if (!line) fail_row_count(reader.name(), rows_read, stated);
  return line;
}

// After the last of the stated lines, makes sure that it is the file's last.
void check_end(CsvReader& reader, uint64_t rows_read, const StatedCount& stated) {
  if (rows_read != stated.count) return;
  const uint64_t beyond = reader.count_rest();
  if (beyond > 0) fail_row_count(reader.name(), rows_read + beyond, stated);
}

class CsvEdges final : public EdgeReader {
 public:
  explicit CsvEdges(const CsvEdgesOptions& options)
      : options_(options), reader_(open_text(options.file), options.header) {}

  uint64_t count() const override { return options_.edges.count; }
  std::string place(uint64_t row) const override {
    return line_words(options_.file, reader_.first_line() + row);
  }

  size_t next(std::span<uint32_t> sources, std::span<uint32_t> destinations) override {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    while (count < sources.size()) {
      const auto line = next_stated_line(reader_, next_edge_, options_.edges);
      if (!line) break;
      ++next_edge_;  // even if it turns out bad: other threads must not miss it at the end
      std::array<uint32_t, 2> ends = {};
      parse_ids(reader_.name(), *line, ends, options_.nodes);
      sources[count] = ends[0];
      destinations[count] = ends[1];
      ++count;
      check_end(reader_, next_edge_, options_.edges);
    }
    return count;
  }

 private:
  const CsvEdgesOptions options_;
  std::mutex mutex_;  // guards what follows, but for the reader's constant facts
  CsvReader reader_;
  uint64_t next_edge_ = 0;
};

class CsvFeatures final : public FeatureReader {
 public:
  CsvFeatures(std::filesystem::path file, StatedCount nodes)
      : file_(std::move(file)), nodes_(std::move(nodes)), reader_(open_text(file_)) {
    CsvReader first_reader(open_text(file_));
    const auto line = first_reader.next();
    if (!line) fail(ErrorKind::input, "{} is empty, one row a node is expected", file_.string());
    columns_ = static_cast<uint32_t>(count_fields(line->text));
  }

  uint32_t columns() const override { return columns_; }
  std::string place(uint64_t row) const override { return line_words(file_, row + 1); }

  Source::Rows next(std::span<float> values) override {
    const TakenLines taken = take(values.size() / columns_);
    size_t begin = 0;
    for (size_t i = 0; i < taken.ends.size(); ++i) {
      const auto text = std::string_view(taken.text).substr(begin, taken.ends[i] - begin);
      parse_features(reader_.name(), {text, taken.first_row + i + 1},
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

  // Only this is under the lock: parsing takes longer than reading.
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
  std::mutex mutex_;  // guards what follows, but for the reader's name
  CsvReader reader_;
  uint64_t next_row_ = 0;
};

class CsvLabels final : public LabelReader {
 public:
  CsvLabels(std::filesystem::path file, StatedCount nodes)
      : file_(std::move(file)), nodes_(std::move(nodes)) {
    open_regular_file(file_);
  }

  std::string place(uint64_t row) const override { return line_words(file_, row + 1); }

  void read(const Source::LabelSink& sink) const override {
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
};

class CsvIds final : public IdListReader {
 public:
  CsvIds(std::filesystem::path file, uint64_t nodes) : file_(std::move(file)), nodes_(nodes) {
    open_regular_file(file_);
  }

  std::string place(uint64_t row) const override { return line_words(file_, row + 1); }

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
};

}  // namespace

StatedCount count_csv_lines(const std::filesystem::path& file, Progress* progress,
                            CsvHeader header) {
  constexpr uint64_t kLinesPerStep = 4096;
  CsvReader reader(open_text(file), header);
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

std::unique_ptr<EdgeReader> open_csv_edges(const CsvEdgesOptions& options) {
  return std::make_unique<CsvEdges>(options);
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
