// Figures in Prometheus' text format, for the textfile collector of node_exporter and for a page
// that Prometheus reads. It has no times: the collector refuses them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::track {

struct PrometheusLabel {
  std::string name;
  std::string value;  // any text
};

class PrometheusText {
 public:
  // `name` must be a valid name: letters, digits and _. The first `help` of a name counts.
  void gauge(std::string_view name, std::string_view help, std::span<const PrometheusLabel> labels,
             double value);
  // All samples of a name stand together, in the order in which the names came.
  std::string text() const;

 private:
  struct Family {
    std::string name;
    std::string help;
    std::string samples;
  };
  std::vector<Family> families_;
};

// Any text as a part of a metric's name: "valid acc/1" -> "valid_acc_1".
std::string prometheus_name(std::string_view text);

}  // namespace plimsoll::track
