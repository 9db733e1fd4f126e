// Products of matrices without torch: by the BLAS that torch would use, where the system has one.
#pragma once

#include <memory>
#include <string>

namespace plimsoll::plan {

// c = a b, in single precision, row by row: a is rows x inner, b inner x columns.
struct MatrixTask {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int rows = 0;
  int inner = 0;
  int columns = 0;
};

// The library is opened with it and closed with it; the threads that the library was set to
// before are then what they were.
class MatrixProduct {
 public:
  explicit MatrixProduct(unsigned threads);
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;
  ~MatrixProduct();

  std::string library() const;  // "libopenblas.so.0"; "plain loops" where there is none
  void multiply(const MatrixTask& task) const;

 private:
  struct Blas;
  unsigned threads_;
  std::unique_ptr<Blas> blas_;  // null: plain loops
};

// Those loops: some share of what a BLAS reaches.
void multiply_plainly(const MatrixTask& task, unsigned threads);

}  // namespace plimsoll::plan
