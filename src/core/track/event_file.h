// TensorBoard's event files: records with checksums, which are only ever appended. A resumed run
// writes a new file, because a TensorBoard that is reading the old one would lose its place. Steps
// that are trained again are cut off the old files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/fd.h"

namespace plimsoll::track {

// CRC-32C (Castagnoli), the checksum of TensorFlow's records.
uint32_t crc32c(std::string_view bytes);
// The same, rotated and shifted by a constant, so that a checksum of data that has checksums in it
// stays useful.
uint32_t masked_crc32c(std::string_view bytes);

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
