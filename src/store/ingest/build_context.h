// What every pass of an import needs: memory, progress display, temporary files, threads.
#pragma once

#include "base/progress.h"
#include "io/temp_file.h"
#include "memory/ledger.h"

namespace plimsoll::ingest {

struct BuildContext {
  memory::Ledger& ledger;
  Progress& progress;
  io::TempPlace temp;
  unsigned threads = 1;
};

}  // namespace plimsoll::ingest
