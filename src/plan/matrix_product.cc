#include "plan/matrix_product.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/parallel.h"

namespace plimsoll::plan {
namespace {

constexpr const char* kLibraries[] = {"libopenblas.so.0", "libblas.so.3", "libcblas.so.3"};

// As cblas.h declares them.
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int rows, int columns,
                       int inner, float alpha, const float* a, int a_stride, const float* b,
                       int b_stride, float beta, float* c, int c_stride);
using GetThreads = int (*)();
using SetThreads = void (*)(int threads);

template <typename Function>
Function find(void* library, const char* symbol) {
  return reinterpret_cast<Function>(::dlsym(library, symbol));
}

}  // namespace

struct MatrixProduct::Blas {
  std::unique_ptr<void, int (*)(void*)> library;
  const char* name = nullptr;
  Sgemm sgemm = nullptr;
  SetThreads set_threads = nullptr;  // null: the library has one thread, or decides itself
  int threads_before = 0;
};

MatrixProduct::MatrixProduct(unsigned threads) : threads_(std::max(1U, threads)) {
  for (const char* name : kLibraries) {
    Blas blas{.library = {::dlopen(name, RTLD_NOW | RTLD_LOCAL), &::dlclose}, .name = name};
    if (blas.library == nullptr) continue;
    blas.sgemm = find<Sgemm>(blas.library.get(), "cblas_sgemm");
    if (blas.sgemm == nullptr) continue;
    const auto get_threads = find<GetThreads>(blas.library.get(), "openblas_get_num_threads");
    if (get_threads != nullptr) {
      blas.threads_before = get_threads();
      blas.set_threads = find<SetThreads>(blas.library.get(), "openblas_set_num_threads");
    }
    if (blas.set_threads != nullptr) blas.set_threads(static_cast<int>(threads_));
    blas_ = std::make_unique<Blas>(std::move(blas));
    return;
  }
}

MatrixProduct::~MatrixProduct() {
  if (blas_ && blas_->set_threads != nullptr) blas_->set_threads(blas_->threads_before);
}

std::string MatrixProduct::library() const { return blas_ ? blas_->name : "plain loops"; }

void MatrixProduct::multiply(const MatrixTask& task) const {
  if (!blas_) {
    multiply_plainly(task, threads_);
    return;
  }
  blas_->sgemm(kRowMajor, kNoTranspose, kNoTranspose, task.rows, task.columns, task.inner, 1,
               task.a, task.inner, task.b, task.columns, 0, task.c, task.columns);
}

void multiply_plainly(const MatrixTask& task, unsigned threads) {
  parallel_for(threads, static_cast<size_t>(task.rows), [&](size_t row) {
    float* c = task.c + row * task.columns;
    std::fill_n(c, task.columns, 0.0F);
    for (int k = 0; k < task.inner; ++k) {
      const float a = task.a[row * task.inner + k];
      const float* b = task.b + static_cast<ptrdiff_t>(k) * task.columns;
      for (int column = 0; column < task.columns; ++column) c[column] += a * b[column];
    }
  });
}

}  // namespace plimsoll::plan
