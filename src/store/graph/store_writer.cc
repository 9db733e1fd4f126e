#include "graph/store_writer.h"

#include <span>

#include "base/error.h"

namespace plimsoll::graph {

io::FileWriter& StoreWriter::open_file(const std::string& name) {
  name_ = name;
  return writer_.emplace(ledger_, folder_.path() / name);
}

void StoreWriter::close_file() {
  const io::WrittenFile written = writer_->finish();
  files_[name_] = {written.bytes, written.checksum};
  writer_.reset();
}

void StoreWriter::take_file(const std::string& name, const std::filesystem::path& from,
                            const FileMeta& about) {
  std::error_code refused;
  std::filesystem::create_hard_link(from, folder_.path() / name, refused);
  if (!refused) {
    files_[name] = about;
    return;
  }
  io::FileReader reader(ledger_, from);
  io::FileWriter& writer = open_file(name);
  memory::Buffer<std::byte> piece(ledger_, "copying", io::kStreamBytes);
  while (const size_t bytes = reader.read_some(piece.span())) writer.append(piece.first(bytes));
  close_file();
  if (files_[name].checksum != about.checksum) {
    fail(ErrorKind::store, "{} does not hold what its store says: the checksum is {}, {} expected",
         from.string(), files_[name].checksum, about.checksum);
  }
}

void StoreWriter::commit(Meta meta) {
  meta.files = files_;
  for (const auto& [file, expected_bytes] : expected_files(meta)) {
    if (!files_.contains(file) || files_[file].bytes != expected_bytes) {
      fail(ErrorKind::internal, "{} was written with {} bytes, the shape demands {}", file,
           files_[file].bytes, expected_bytes);
    }
  }
  const std::string text = to_text(meta);
  parse_meta(text, (folder_.path() / "meta.json").string());  // what nobody can open gets no name
  io::FileWriter writer(ledger_, folder_.path() / "meta.json");
  writer.append(std::as_bytes(std::span(text)));
  writer.finish();
  folder_.commit();
}

}  // namespace plimsoll::graph
