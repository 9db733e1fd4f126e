#include "plan/matrix_product.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::plan {
namespace {

struct Example {
  std::vector<float> a = {1, 2, 3, 4, 5, 6};     // 3 x 2
  std::vector<float> b = {1, 0, 2, 0, 1, -1};    // 2 x 3
  std::vector<float> c = std::vector<float>(9);  // 3 x 3
  MatrixTask task() { return {a.data(), b.data(), c.data(), 3, 2, 3}; }
};
const std::vector<float> kProduct = {1, 2, 0, 3, 4, 2, 5, 6, 4};

TEST(MatrixProduct, IsTheProductOfTheSystemsLibrary) {
  Example example;
  for (const unsigned threads : {1U, 2U}) {
    const MatrixProduct product(threads);
    EXPECT_FALSE(product.library().empty());
    product.multiply(example.task());
    EXPECT_EQ(example.c, kProduct) << product.library();
  }
}

TEST(MatrixProduct, IsTheSameByPlainLoops) {
  Example example;
  multiply_plainly(example.task(), 2);
  EXPECT_EQ(example.c, kProduct);
}

}  // namespace
}  // namespace plimsoll::plan
