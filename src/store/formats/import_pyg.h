// Graphs that PyTorch Geometric has saved. The file is a pickle, which Python reads: this finds an
// interpreter and our package for it, and hands over what was asked, as JSON.
#pragma once

#include <filesystem>
#include <string>

#include "formats/import_graph.h"

namespace plimsoll::formats {

struct PygRequest {
  std::filesystem::path file;
  std::string python;  // as find_python() takes it
  ReadingOptions reading;
  ImportOptions import;
};

// Returns the exit code of the Python program, which has printed its messages itself.
int import_pyg(const PygRequest& request);

}  // namespace plimsoll::formats
