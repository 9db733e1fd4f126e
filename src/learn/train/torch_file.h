// Files that Python's torch.load can open, also with weights_only=True: they contain only plain
// values and tensors, no classes. Such a file is a zip archive with a pickle, which holds
// everything except the numbers of the tensors, and one uncompressed member per tensor.
#pragma once

#include <filesystem>
#include <memory>

#include "io/file.h"
#include "memory/ledger.h"
#include "train/pickled_values.h"
#include "train/value.h"

namespace plimsoll::train {

// Writes the dict atomically: `path` is always the complete old file or the complete new one. The
// new file is written as `path`.partial, synced and renamed. Tensors may be on any device and have
// any strides; a tensor that is not contiguous on the CPU is copied, one at a time. Throws
// Error{disk} if the disk is full, Error{io} for other system errors, and Error{input} for text
// that is not UTF-8, which Python could not read. Only one writer per path at a time.
void write_torch_file(const std::filesystem::path& path, const PyDict& dict);
// Writes to an empty file and does not sync it.
void write_torch_file(const io::OpenFile& file, const PyDict& dict);

// Reads a file of write_torch_file() or of torch.save with a dict. The constructor compares all
// checksums and reads the values, which take leases ("checkpoint values") as long as it lives. The
// tensors stay in the file until they are requested. All functions throw Error{io} if the file is
// missing or unreadable, Error{memory} if a lease is refused, and Error{input} with the file and
// the reason if it is damaged, hostile or anything else.
class TorchFileReader {
 public:
  // If `streamed` is not null, the rows of that list are handed over by the constructor.
  TorchFileReader(const std::filesystem::path& path, memory::Ledger& ledger,
                  const StreamedList* streamed = nullptr);
  ~TorchFileReader();
  TorchFileReader(const TorchFileReader&) = delete;
  TorchFileReader& operator=(const TorchFileReader&) = delete;

  const PyDict& values() const;

  // Reads the numbers into `to`, which must have the same sizes. Reads directly from the file if
  // `to` is on the CPU and has the same type and strides.
  void read_into(const StoredTensor& stored, const at::Tensor& to);

  // A new tensor on the CPU, without gradients. Tensors that shared a storage in Python share it
  // again.
  at::Tensor load(const StoredTensor& stored);

 private:
  class Content;
  std::unique_ptr<Content> content_;
};

// Reads the whole file, including its tensors.
PyDict read_torch_file(const std::filesystem::path& path, memory::Ledger& ledger);

}  // namespace plimsoll::train
