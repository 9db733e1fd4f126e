#include "recipe/training_status.h"

#include <gtest/gtest.h>

namespace plimsoll::recipe {
namespace {

TEST(TrainingStatus, IsReadFromItsOwnName) {
  for (const TrainingStatus status :
       {TrainingStatus::running, TrainingStatus::finished, TrainingStatus::early_stopped,
        TrainingStatus::stopped, TrainingStatus::interrupted}) {
    EXPECT_EQ(status_named(name(status)), status) << name(status);
  }
  EXPECT_EQ(name(TrainingStatus::early_stopped), "early stopped");
}

TEST(TrainingStatus, OfAnotherVersionIsUnknown) {
  EXPECT_EQ(status_named("paused"), TrainingStatus::unknown);
  EXPECT_EQ(status_named(""), TrainingStatus::unknown);
}

}  // namespace
}  // namespace plimsoll::recipe
