// What sacct and scontrol print: job names, comments and paths in it are the users' own.
#include <algorithm>
#include <string>

#include "only_errors.h"
#include "slurm/job.h"
#include "slurm/script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  const std::string text(text_of_input(data, size));
  only_errors([&] {
    if (const auto account = slurm::parse_account(text)) slurm::decisive_code(*account);
    if (const auto record = slurm::parse_record(text)) {
      slurm::describe(slurm::account_of("1", *record));
    }
  });
  // An option that is taken must not become a second line of the script.
  only_errors([&] {
    slurm::ScriptRequest request;
    request.options = {slurm::parse_sbatch_option(text)};
    const std::string with = slurm::script_text(request);
    const std::string without = slurm::script_text({});
    const auto lines = [](const std::string& script) {
      return std::count(script.begin(), script.end(), '\n');
    };
    if (lines(with) > lines(without) + 1) __builtin_trap();
  });
  return 0;
}
