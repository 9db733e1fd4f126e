// What this machine can do, measured: the figures from which the time of a training is predicted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "memory/ledger.h"

namespace plimsoll::plan {

struct Machine {
  double reads_per_second = 0;       // of `read_bytes` each, at random, by an io::ReadQueue
  uint64_t read_bytes = 0;           // the smallest read that the disk does, 512 at least
  double read_bytes_per_second = 0;  // by reads of a megabyte, several at once
  std::string read_method;           // "io_uring", "pread on 32 threads"
  double flops_per_second = 0;       // of products of matrices, on `threads` threads
  double rows_per_second = 0;        // of 256 bytes, gathered at random from memory by one thread
  unsigned threads = 0;
};

// Takes about a second and a half, and up to 128 MiB, less where the ledger has less. Reads
// `file`, past the page cache where its file system allows: the larger it is, the truer, for a
// disk has caches, too. An empty file has no rates of reads: 0. Throws Error{io} where it cannot
// be read.
Machine calibrate(const std::filesystem::path& file, unsigned threads, memory::Ledger& ledger);

}  // namespace plimsoll::plan
