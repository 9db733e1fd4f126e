// TensorBoard's events as protocol buffers: the few messages that scalars and hyperparameters need,
// encoded by hand. The numbers of the fields are those of TensorBoard's event.proto, summary.proto
// and plugins/hparams/*.proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plimsoll::track {

struct Scalar {
  std::string name;
  double value = 0;
};

// A hyperparameter.
struct LoggedSetting {
  std::string name;
  std::variant<double, std::string, bool> value;
};

enum class SessionMark { start, stop };

// When and at which step an event happened.
struct Moment {
  double time = 0;  // seconds since 1970
  uint64_t step = 0;
};

std::string version_event(const Moment& moment);
// A start makes TensorBoard drop what it has of this step and later ones.
std::string session_event(const Moment& moment, SessionMark mark);
std::string scalars_event(const Moment& moment, std::span<const Scalar> scalars);

// The events of TensorBoard's hparams page: which settings and metrics there are, this run's
// settings, and how it ended. `group`: runs with the same one are repeats of each other.
std::string hparams_event(const Moment& moment, std::span<const LoggedSetting> settings,
                          std::span<const std::string> metric_tags);
std::string hparams_start_event(const Moment& moment, std::span<const LoggedSetting> settings,
                                std::string_view group);
std::string hparams_end_event(const Moment& moment, bool success);

// The facts about an earlier event that a resumed run needs.
struct EventFacts {
  uint64_t step = 0;
  bool has_summary = false;
  bool has_session = false;
  bool ends_session = false;
};
// Accepts any bytes; false if they are not an event.
bool read_event(std::string_view bytes, EventFacts& facts);

}  // namespace plimsoll::track
