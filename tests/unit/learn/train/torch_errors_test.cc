#include "train/torch_errors.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace plimsoll::train {
namespace {

std::exception_ptr torch_error(const char* what) {
  try {
    TORCH_CHECK(false, what);
  } catch (...) {
    return std::current_exception();
  }
  return {};
}

TEST(Shortage, IsWhatLedgerSystemAndGpuRefuse) {
  EXPECT_TRUE(is_shortage(std::make_exception_ptr(Error(ErrorKind::memory, "refused"))));
  EXPECT_TRUE(is_shortage(std::make_exception_ptr(std::bad_alloc())));
  EXPECT_TRUE(is_shortage(std::make_exception_ptr(
      c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "CUDA out of memory"))));
  EXPECT_TRUE(is_shortage(torch_error("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")));
}

TEST(Shortage, IsNothingElse) {
  EXPECT_FALSE(is_shortage(std::make_exception_ptr(Error(ErrorKind::disk, "full"))));
  EXPECT_FALSE(is_shortage(std::make_exception_ptr(std::runtime_error("other"))));
  EXPECT_FALSE(is_shortage(torch_error("sizes do not match")));
}

TEST(AsError, KeepsOursAndAdvisesForTheOthers) {
  const auto ours = as_error(std::make_exception_ptr(Error(ErrorKind::lost, "rank 3")));
  EXPECT_EQ(ours->kind(), ErrorKind::lost);
  EXPECT_STREQ(ours->what(), "rank 3");
  const auto system = as_error(std::make_exception_ptr(std::bad_alloc()));
  EXPECT_NE(std::string(system->what()).find("stop other programs"), std::string::npos);
  EXPECT_EQ(as_error(torch_error("sizes do not match"))->kind(), ErrorKind::internal);
  EXPECT_FALSE(as_error(std::make_exception_ptr(std::runtime_error("other"))));
}

}  // namespace
}  // namespace plimsoll::train
