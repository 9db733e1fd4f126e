#include "graph/identity.h"

#include <filesystem>
#include <span>

#include "io/file.h"

namespace plimsoll::graph {

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
