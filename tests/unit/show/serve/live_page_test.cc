#include "serve/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsText, CountsRunsAndHasTheirFigures) {
  using report::FoundState;
  const std::string text = metrics_text({{.state = FoundState::running,
                                          .name = "a",
                                          .figures = TrainingMetrics{.epoch = 3, .loss = 0.5}},
                                         {.state = FoundState::running, .name = "b"},
                                         {.state = FoundState::finished, .name = "c"}});
  EXPECT_THAT(text, HasSubstr("# TYPE plimsoll_runs gauge\n"));
  EXPECT_THAT(text, HasSubstr("plimsoll_runs{kind=\"training\",state=\"running\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("plimsoll_run_epoch{run=\"a\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("plimsoll_run_loss{run=\"a\"} 0.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("run=\"b\"")));
}

TEST(MetricsText, EscapesNames) {
  const std::string text =
      metrics_text({{.name = "a\"b\\c\nd", .figures = TrainingMetrics{.epoch = 1}}});
  EXPECT_THAT(text, HasSubstr("{run=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

}  // namespace
}  // namespace plimsoll::serve
