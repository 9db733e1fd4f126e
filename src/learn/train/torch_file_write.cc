#include <span>
#include <string_view>
#include <vector>

#include "io/partial_file.h"
#include "train/pickle_writer.h"
#include "train/stored_zip_writer.h"
#include "train/torch_file.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

void add_text(StoredZipWriter& zip, std::string_view name, std::string_view text) {
  zip.add(name, std::as_bytes(std::span(text)));
}

void add_tensor(StoredZipWriter& zip, std::string_view name, const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
  zip.add(name, std::span(static_cast<const std::byte*>(plain.data_ptr()), plain.nbytes()));
}

}  // namespace

// The members and their order are those of torch.save.
void write_torch_file(const io::OpenFile& file, const PyDict& dict) {
  StoredZipWriter zip(file);
  std::vector<at::Tensor> storages;
  zip.add("archive/data.pkl",
          [&](const StoredZipWriter::Take& take) { storages = write_pickle(dict, take); });
  add_text(zip, "archive/byteorder", "little");
  for (size_t i = 0; i < storages.size(); ++i) {
    add_tensor(zip, fmt::format("archive/data/{}", i), storages[i]);
  }
  add_text(zip, "archive/version", "3\n");
  zip.finish();
}

void write_torch_file(const fs::path& path, const PyDict& dict) {
  io::PartialFile partial(path);
  write_torch_file(partial.file(), dict);
  partial.commit();
}

}  // namespace plimsoll::train
