// TensorBoard's event files: records with checksums, which are only ever appended. A resumed run
// writes a new file, because a TensorBoard that is reading the old one would lose its place; what
// the old ones have of steps that are trained again is cut off.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/fd.h"

namespace plimsoll::track {

// Whether it is one of ours: events.out.tfevents.SECONDS.HOST.PID.NUMBER.plimsoll
bool is_event_file(std::string_view name);

// Cuts what comes after `last_step` off our event files in the folder, with what a crash left half
// written and how the run ended. Without a step to keep, removes them. Returns the last step that
// has scalars; 0 if there is none.
uint64_t keep_events(const std::filesystem::path& folder, uint64_t last_step);

class EventFile {
 public:
  // A new file in the folder. Throws Error.
  EventFile(const std::filesystem::path& folder, double time);

  // One write for all of the events that were added since. Throws Error.
  void add(std::string_view event);
  void flush();

 private:
  std::string path_;
  Fd file_;
  std::string pending_;
};

}  // namespace plimsoll::track
