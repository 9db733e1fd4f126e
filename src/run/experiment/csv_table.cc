#include "experiment/csv_table.h"

#include <utility>

#include "base/error.h"

namespace plimsoll::experiment {
namespace {

class TableParser {
 public:
  using TakeRow = std::function<void(size_t number, Row row)>;
  explicit TableParser(const TakeRow& take_row) : take_row_(take_row) {}

  void take(char c, char next, bool& skip_next) {
    if (quoted_) {
      if (c == '"' && next == '"') {
        cell_ += c;
        skip_next = true;
      } else if (c == '"') {
        quoted_ = false;
      } else {
        cell_ += c;
      }
    } else if (c == '"' && cell_.empty()) {
      quoted_ = true;
    } else if (c == ',') {
      end_cell();
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r') {
      cell_ += c;
    }
  }

  void end_cell() {
    if (row_.size() == kMostCells) {
      fail(ErrorKind::input, "row {} of the table has more than {} cells", rows_ + 1, kMostCells);
    }
    row_.push_back(std::move(cell_));
    cell_.clear();
  }

  void end_row() {
    if (row_.empty() && cell_.empty()) return;
    end_cell();
    take_row_(++rows_, std::move(row_));
    row_.clear();
  }

 private:
  const TakeRow& take_row_;
  size_t rows_ = 0;
  Row row_;
  std::string cell_;
  bool quoted_ = false;
};

}  // namespace

void for_each_row(std::string_view text, const std::function<void(size_t, Row)>& take) {
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);  // the byte order mark of spreadsheets
  TableParser parser(take);
  for (size_t i = 0; i < text.size(); ++i) {
    bool skip_next = false;
    parser.take(text[i], i + 1 < text.size() ? text[i + 1] : '\0', skip_next);
    if (skip_next) ++i;
  }
  parser.end_row();
}

std::vector<Row> parse_table(std::string_view text) {
  std::vector<Row> rows;
  for_each_row(text, [&](size_t /*number*/, Row row) { rows.push_back(std::move(row)); });
  return rows;
}

std::string table_cells(const Row& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty() || &cell != &cells.front()) line += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) {
      if (c == '"') line += c;
      line += c;
    }
    line += '"';
  }
  return line;
}

std::string table_line(const Row& cells) { return table_cells(cells) + "\n"; }

}  // namespace plimsoll::experiment
