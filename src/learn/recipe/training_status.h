// Whether a training runs, or how it ended.
#pragma once

#include <string_view>

namespace plimsoll::recipe {

// The state of a training, one word in results.json and diary.json.
enum class TrainingStatus {
  running,
  finished,
  early_stopped,  // by --patience
  stopped,        // by a signal; it can be resumed
  interrupted,    // it ended without saying so; only readers use it
  unknown,        // a word of another version
};

std::string_view name(TrainingStatus status);        // "early stopped"
TrainingStatus status_named(std::string_view name);  // `unknown` for other words

}  // namespace plimsoll::recipe
