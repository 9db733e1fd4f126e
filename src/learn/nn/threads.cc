#include "nn/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/parallel.h"

namespace plimsoll::nn {
namespace {

int thread_count = 1;

// If OpenBLAS has its own threads, torch's setting does not reach it.
void set_blas_threads(int threads) {
  for (const char* name : {"libopenblas.so.0", "libblas.so.3"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (void* set = dlsym(library, "openblas_set_num_threads")) {
      reinterpret_cast<void (*)(int)>(set)(threads);
    }
    dlclose(library);
  }
}

}  // namespace

void set_computing_threads(unsigned threads) {
  at::set_num_threads(1);
  set_blas_threads(1);
  thread_count = static_cast<int>(std::max(1U, threads));
}

unsigned computing_threads() { return static_cast<unsigned>(thread_count); }

void for_blocks(int64_t rows, int64_t block,
                const std::function<void(int64_t first, int64_t last)>& body) {
  const int64_t blocks = (rows + block - 1) / block;
  const auto run = [&](int64_t i) { body(i * block, std::min(rows, (i + 1) * block)); };
  if (blocks <= 1 || thread_count == 1) {
    for (int64_t i = 0; i < blocks; ++i) run(i);
    return;
  }
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer does not see how OpenMP's threads wait for each other.
  parallel_for(computing_threads(), static_cast<size_t>(blocks),
               [&](size_t i) { run(static_cast<int64_t>(i)); });
#else
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  // Always use the whole team: with a smaller one OpenMP would end threads and start them again.
#pragma omp parallel for schedule(dynamic, 1) num_threads(thread_count)
  for (int64_t i = 0; i < blocks; ++i) {
    try {
      if (!failed) run(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
#endif
}

int64_t block_rows(int64_t block_work, int64_t work_a_row) {
  constexpr int64_t kMultiple = 64;  // a whole number of vectors and tiles
  const int64_t rows = block_work / std::max<int64_t>(1, work_a_row);
  return std::max(kMultiple, rows / kMultiple * kMultiple);
}

int64_t part_rows(int64_t rows, int64_t block) {
  return std::max(block, (rows + kMostParts - 1) / kMostParts);
}

}  // namespace plimsoll::nn
