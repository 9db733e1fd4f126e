#include "track/event_message.h"

#include <bit>
#include <concepts>

namespace plimsoll::track {
namespace {

// How a field's value is encoded; the low three bits of its key.
enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Appends the fields of one message. A field with its default value is written, too: inside a
// oneof that decides which one is set.
class Message {
 public:
  Message& varint(unsigned field, uint64_t value) {
    key(field, Wire::varint);
    append_varint(value);
    return *this;
  }
  Message& real(unsigned field, double value) {
    key(field, Wire::fixed64);
    append_fixed(std::bit_cast<uint64_t>(value));
    return *this;
  }
  Message& single(unsigned field, float value) {
    key(field, Wire::fixed32);
    append_fixed(std::bit_cast<uint32_t>(value));
    return *this;
  }
  Message& text(unsigned field, std::string_view value) {
    key(field, Wire::bytes);
    append_varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(unsigned field, Wire wire) {
    append_varint(uint64_t{field} << 3 | static_cast<uint64_t>(wire));
  }
  void append_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void append_fixed(std::unsigned_integral auto value) {
    for (size_t i = 0; i < sizeof(value); ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }

  std::string bytes_;
};

// The fields of an Event.
constexpr unsigned kWallTime = 1;
constexpr unsigned kStep = 2;
constexpr unsigned kFileVersion = 3;
constexpr unsigned kSummary = 5;
constexpr unsigned kSessionLog = 7;
constexpr uint64_t kSessionStart = 1;
constexpr uint64_t kSessionStop = 2;

Message event_at(const Moment& moment) {
  Message event;
  event.real(kWallTime, moment.time).varint(kStep, moment.step);
  return event;
}

// google.protobuf.Value
Message value_message(const LoggedSetting& setting) {
  Message value;
  if (const auto* number = std::get_if<double>(&setting.value)) {
    value.real(2, *number);
  } else if (const auto* text = std::get_if<std::string>(&setting.value)) {
    value.text(3, *text);
  } else {
    value.varint(4, std::get<bool>(setting.value) ? 1 : 0);
  }
  return value;
}

uint64_t type_of(const LoggedSetting& setting) {
  if (std::holds_alternative<std::string>(setting.value)) return 1;
  return std::holds_alternative<bool>(setting.value) ? 2 : 3;
}

// A summary that has no value but what the hparams plugin reads: HParamsPluginData.
std::string plugin_event(const Moment& moment, std::string_view tag, const Message& content) {
  const Message plugin = Message().text(1, "hparams").text(2, content.bytes());
  const Message metadata = Message().message(1, plugin);
  const Message value = Message().text(1, tag).message(9, metadata);
  return event_at(moment).message(kSummary, Message().message(1, value)).bytes();
}

// Reads keys and values one after the other. After a failure, ok() stays false.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return !ok_ || rest_.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (!ok_) return 0;
      value |= static_cast<uint64_t>(static_cast<uint8_t>(byte[0]) & 0x7f) << shift;
      if ((static_cast<uint8_t>(byte[0]) & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

bool ends_session(std::string_view session) {
  MessageReader reader(session);
  bool ends = false;
  while (!reader.at_end()) {
    const uint64_t key = reader.varint();
    const uint64_t value = reader.varint();  // our own has nothing else
    if (key >> 3 == 1) ends = value == kSessionStop;
  }
  return ends;
}

}  // namespace

std::string version_event(const Moment& moment) {
  return event_at(moment).text(kFileVersion, "brain.Event:2").bytes();
}

std::string session_event(const Moment& moment, SessionMark mark) {
  const Message session =
      Message().varint(1, mark == SessionMark::start ? kSessionStart : kSessionStop);
  return event_at(moment).message(kSessionLog, session).bytes();
}

std::string scalars_event(const Moment& moment, std::span<const Scalar> scalars) {
  Message summary;
  for (const Scalar& scalar : scalars) {
    summary.message(1, Message().text(1, scalar.name).single(2, static_cast<float>(scalar.value)));
  }
  return event_at(moment).message(kSummary, summary).bytes();
}

std::string hparams_event(const Moment& moment, std::span<const LoggedSetting> settings,
                          std::span<const std::string> metric_tags) {
  Message experiment;
  experiment.real(3, moment.time);
  for (const LoggedSetting& setting : settings) {
    experiment.message(4, Message().text(1, setting.name).varint(4, type_of(setting)));
  }
  for (const std::string& tag : metric_tags) {
    experiment.message(5, Message().message(1, Message().text(2, tag)));
  }
  return plugin_event(moment, "_hparams_/experiment", Message().message(2, experiment));
}

std::string hparams_start_event(const Moment& moment, std::span<const LoggedSetting> settings,
                                std::string_view group) {
  Message start;
  for (const LoggedSetting& setting : settings) {  // a map: messages of a key and a value
    start.message(1, Message().text(1, setting.name).message(2, value_message(setting)));
  }
  if (!group.empty()) start.text(4, group);
  start.real(5, moment.time);
  return plugin_event(moment, "_hparams_/session_start_info", Message().message(3, start));
}

std::string hparams_end_event(const Moment& moment, bool success) {
  const Message end = Message().varint(1, success ? 1 : 2).real(2, moment.time);
  return plugin_event(moment, "_hparams_/session_end_info", Message().message(4, end));
}

bool read_event(std::string_view bytes, EventFacts& facts) {
  facts = {};
  MessageReader reader(bytes);
  while (!reader.at_end()) {
    const uint64_t key = reader.varint();
    const uint64_t field = key >> 3;
    switch (static_cast<Wire>(key & 7)) {
      case Wire::varint: {
        const uint64_t value = reader.varint();
        if (field == kStep) facts.step = value;
        break;
      }
      case Wire::fixed64:
        reader.take(8);
        break;
      case Wire::fixed32:
        reader.take(4);
        break;
      case Wire::bytes: {
        const std::string_view value = reader.take(reader.varint());
        facts.has_summary = facts.has_summary || field == kSummary;
        facts.has_session = facts.has_session || field == kSessionLog;
        if (field == kSessionLog) facts.ends_session = ends_session(value);
        break;
      }
      default:
        return false;
    }
  }
  return reader.ok();
}

}  // namespace plimsoll::track
