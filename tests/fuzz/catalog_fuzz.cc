// A model config may be any text. Patterns that it takes can be used on any line, and its
// hyperparameters can be drawn.
#include <string>

#include "experiment/catalog.h"
#include "experiment/draw.h"
#include "experiment/metrics.h"
#include "only_errors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  using namespace plimsoll::experiment;
  const std::string_view text = text_of_input(data, size);
  only_errors([&] {
    Problems problems;
    const Catalog catalog = read_catalog(text, "models.json", problems);
    for (const ProblemGroup& group : problems.grouped()) describe(group);
    for (const Repository& repository : catalog.repositories) {
      LogReader reader(repository.metrics, {});
      read_lines(text, reader);
      std::vector<std::string> drawn;
      for (const Hyperparameter& parameter : repository.hyperparameters) {
        if (parameter.has_range) drawn.push_back(parameter.name);
      }
      Drawer drawer(repository, drawn, repository.defaults(), 42, 0);
      if (const auto values = drawer.next()) training_command(repository, "default", *values);
    }
  });
  return 0;
}
