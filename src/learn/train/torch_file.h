// Files that Python's torch.load opens, with weights_only=True too: what goes in is plain values
// and tensors, never a class. They are zip archives of a pickle, which holds everything but the
// numbers of the tensors, and one stored member a tensor.
#pragma once

#include <filesystem>
#include <memory>

#include "io/file.h"
#include "memory/ledger.h"
#include "train/value.h"

namespace plimsoll::train {

// Writes the dict so that `path` is at every moment the old file or the new one, each whole: it
// grows as `path`.partial, is synced and renamed. Tensors may lie on any device and in any order in
// memory; beyond them it needs the memory of the largest, and only where that one must be moved. A
// full disk is Error{disk}, another refusal of the system Error{io}, text that is not UTF-8
// Error{input}: Python could not read it back. One writer for a path at a time.
void write_torch_file(const std::filesystem::path& path, const PyDict& dict);
// Into a file that is empty; syncs nothing.
void write_torch_file(const io::OpenFile& file, const PyDict& dict);

// What write_torch_file() or torch.save of a dict wrote, opened: every byte agrees with its
// checksum. Its values are read, and take leases ("checkpoint values") of the ledger as long as it
// lives; its tensors stay in the file until they are asked for. All functions throw Error{io} where
// the file is missing or cannot be read, Error{memory} where the ledger refuses, and Error{input}
// with the file and what is wrong where it is anything else, damaged or hostile.
class TorchFileReader {
 public:
  TorchFileReader(const std::filesystem::path& path, memory::Ledger& ledger);
  ~TorchFileReader();
  TorchFileReader(const TorchFileReader&) = delete;
  TorchFileReader& operator=(const TorchFileReader&) = delete;

  const PyDict& values() const;

  // Its numbers into a tensor of the same sizes: straight from the file where `to` lies on the CPU
  // and has the same type and order.
  void read_into(const StoredTensor& stored, const at::Tensor& to);

  // On the CPU, without gradients. Those that shared their numbers in Python share them again.
  at::Tensor load(const StoredTensor& stored);

 private:
  class Content;
  std::unique_ptr<Content> content_;
};

// All of it, with its tensors.
PyDict read_torch_file(const std::filesystem::path& path, memory::Ledger& ledger);

}  // namespace plimsoll::train
