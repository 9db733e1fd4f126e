#include "graph/store.h"

#include <filesystem>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/text_file.h"
#include "io/file.h"

namespace plimsoll::graph {

namespace fs = std::filesystem;

fs::path Store::features_file() const { return file(features_name(meta_.feature_type)); }

uint64_t Store::size_bytes() const {
  uint64_t sum = meta_bytes_;
  for (const auto& [file, about] : meta_.files) sum += about.bytes;
  return sum;
}

Store open(const fs::path& folder) {
  const fs::path meta_path = folder / "meta.json";
  if (!fs::exists(folder)) {
    fail(ErrorKind::io, "there is no store {}; make one with plimsoll import or synth",
         folder.string());
  }
  if (!fs::exists(meta_path)) {
    fail(ErrorKind::store, "{} is not a store: it has no meta.json", folder.string());
  }
  Store store;
  store.folder_ = folder;
  const std::string text = read_small_file(meta_path, JsonLimits().bytes, ErrorKind::store);
  store.meta_bytes_ = text.size();
  store.meta_ = parse_meta(text, meta_path.string());
  for (const auto& [name, about] : store.meta_.files) {
    const fs::path path = store.file(name);
    std::error_code error;
    const uint64_t bytes = fs::file_size(path, error);
    if (error) {
      fail(ErrorKind::store, "{} cannot be read ({}); import the graph again", path.string(),
           error.message());
    }
    if (bytes != about.bytes) {
      fail(ErrorKind::store, "{} has {} bytes, meta.json says {}; import the graph again",
           path.string(), bytes, about.bytes);
    }
  }
  return store;
}

void verify(const Store& store, memory::Ledger& ledger,
            const std::function<void(uint64_t bytes)>& on_bytes) {
  memory::Buffer<std::byte> piece(ledger, "verify", io::kStreamBytes);
  for (const auto& [name, about] : store.meta().files) {
    io::FileReader reader(ledger, store.file(name));
    io::Checksum checksum;
    while (const size_t count = reader.read_some(piece.span())) {
      throw_if_interrupted();
      checksum.update(piece.first(count));
      on_bytes(count);
    }
    if (checksum.hex() != about.checksum) {
      fail(ErrorKind::store,
           "{} has checksum {}, meta.json says {}; the file was damaged or changed",
           store.file(name).string(), checksum.hex(), about.checksum);
    }
  }
}

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
    fail(ErrorKind::store,
         "{} has checksum {}, its meta.json says {}; the file was damaged or changed",
         from.string(), files_[name].checksum, about.checksum);
  }
}

void StoreWriter::commit(Meta meta) {
  meta.files = files_;
  for (const auto& [file, expected_bytes] : expected_files(meta)) {
    if (!files_.contains(file) || files_[file].bytes != expected_bytes) {
      fail(ErrorKind::internal, "{} was written with {} bytes, but must have {}", file,
           files_[file].bytes, expected_bytes);
    }
  }
  const std::string text = to_text(meta);
  // Checks that the store can be opened before it gets its name.
  parse_meta(text, (folder_.path() / "meta.json").string());
  io::FileWriter writer(ledger_, folder_.path() / "meta.json");
  writer.append(std::as_bytes(std::span(text)));
  writer.finish();
  folder_.commit();
}

std::string store_checksum(const Store& store) {
  io::Checksum checksum;
  for (const auto& [file, about] : store.meta().files) {
    checksum.update(std::as_bytes(std::span(about.checksum)));
  }
  return checksum.hex();
}

std::string dataset_name(const Store& store) {
  const nlohmann::json& source = store.meta().source;
  const auto name = source.is_object() ? source.find("name") : source.end();
  if (name != source.end() && name->is_string() && !name->get<std::string>().empty()) {
    return name->get<std::string>();
  }
  const std::filesystem::path& folder = store.folder();
  return (folder.has_filename() ? folder : folder.parent_path()).stem().string();
}

}  // namespace plimsoll::graph
