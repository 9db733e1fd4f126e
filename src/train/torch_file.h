// Files that Python's torch.load opens, with weights_only=True too: what goes in is plain values
// and tensors, never a class. They are zip archives of a pickle, which holds everything but the
// numbers of the tensors, and one stored member a tensor.
#pragma once

#include <filesystem>

#include "io/file.h"
#include "train/value.h"

namespace plimsoll::train {

// Writes the dict so that `path` is at every moment the old file or the new one, each whole: it
// grows as `path`.partial, is synced and renamed. Tensors may lie on any device and in any order in
// memory; beyond them it needs the memory of the largest, and only where that one must be moved. A
// full disk is Error{disk}, another refusal of the system Error{io}, text that is not UTF-8
// Error{input}: Python could not read it back. One writer for a path at a time.
void write_torch_file(const std::filesystem::path& path, const Dict& dict);
// Into a file that is empty; syncs nothing.
void write_torch_file(const io::OpenFile& file, const Dict& dict);

// Reads what write_torch_file() or torch.save of a dict wrote. All tensors come to the CPU, without
// gradients, as Python has them: those that shared their numbers still do. The memory it takes is
// bounded by the size of the file. Throws Error{io} where the file is missing or cannot be read,
// and Error{input} with the file and what is wrong where it is anything else, damaged or hostile.
Dict read_torch_file(const std::filesystem::path& path);

}  // namespace plimsoll::train
