// Running a pipeline to its end, but not for ever.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

#include "batch/pipeline.h"
#include "small_batch.h"

namespace plimsoll::batch {

// Takes and gives back all batches that are left.
inline std::vector<BatchCopy> drain(Pipeline& pipeline) {
  std::vector<BatchCopy> batches;
  while (const Batch* batch = pipeline.take()) {
    batches.emplace_back(*batch);
    pipeline.give_back(batch);
  }
  return batches;
}

// What `work` gives or throws; a test that hangs ends here, as nothing else can end its threads.
template <typename Work>
auto in_time(const Work& work) {
  auto result = std::async(std::launch::async, work);
  if (result.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
    std::fprintf(stderr, "%s has been waiting for a minute\n",
                 testing::UnitTest::GetInstance()->current_test_info()->name());
    std::abort();
  }
  return result.get();
}

}  // namespace plimsoll::batch
