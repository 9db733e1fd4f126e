#include "launch/built_library.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "base/text_file.h"
#include "io/file.h"
#include "io/partial_file.h"
#include "launch/train_module.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDescription = "about.json";
constexpr uint64_t kMostProgramBytes = uint64_t{256} << 20;
constexpr uint64_t kMostDescriptionBytes = uint64_t{64} << 10;

std::string checksum_of(std::string_view text) {
  io::Checksum checksum;
  checksum.update(std::as_bytes(std::span(text)));
  return checksum.hex();
}

// Of all programs; empty if the user has no cache folder.
fs::path all_libraries() {
  const fs::path cache = user_folder(Host::real(), "XDG_CACHE_HOME", ".cache");
  return cache.empty() ? cache : cache / "torch";
}

// Empty if nothing was ever built: then the program need not be read.
fs::path existing_libraries(const fs::path& program) {
  const fs::path all = all_libraries();
  std::error_code none;
  return all.empty() || !fs::exists(all, none) ? fs::path() : built_libraries(program);
}

fs::path choice_in(const fs::path& libraries, const fs::path& program) {
  return libraries / ("chosen-" + checksum_of(program.string()));
}

}  // namespace

fs::path built_libraries(const fs::path& program) {
  const fs::path all = all_libraries();
  if (all.empty()) {
    fail(ErrorKind::io, "there is no place for the library: set HOME or XDG_CACHE_HOME");
  }
  return all / checksum_of(read_small_file(program, kMostProgramBytes));
}

fs::path library_folder(const fs::path& program, const BuiltLibrary& torch) {
  return built_libraries(program) /
         fmt::format("{}-{}", torch.torch, checksum_of(torch.torch_folder.string()).substr(0, 8));
}

void describe_library(const fs::path& folder, const BuiltLibrary& built) {
  const nlohmann::ordered_json json = {
      {"torch", built.torch}, {"torch_folder", built.torch_folder.string()}, {"cuda", built.cuda}};
  io::write_whole(folder / kDescription, json_text(json) + "\n");
}

std::optional<BuiltLibrary> read_library(const fs::path& folder) {
  const fs::path library = folder / kTrainLibrary;
  std::error_code unreadable;
  if (!fs::exists(library, unreadable) || !fs::exists(folder / kDescription, unreadable)) return {};
  try {
    using Json = nlohmann::json;
    const std::string text = read_small_file(folder / kDescription, kMostDescriptionBytes);
    return from_json<Json>(text, kDescription, [&](const Json& json) {
      return BuiltLibrary{.library = library,
                          .torch = json.at("torch").get<std::string>(),
                          .torch_folder = json.at("torch_folder").get<std::string>(),
                          .cuda = json.at("cuda").get<std::string>()};
    });
  } catch (const Error&) {
    return {};
  }
}

std::optional<BuiltLibrary> chosen_library(const fs::path& program) {
  const fs::path libraries = existing_libraries(program);
  if (libraries.empty()) return {};
  std::error_code none;
  const fs::path name = fs::read_symlink(choice_in(libraries, program), none);
  return none ? std::nullopt : read_library(libraries / name);
}

void choose_library(const fs::path& program, const fs::path& folder) {
  const fs::path choice = choice_in(built_libraries(program), program);
  const fs::path fresh = choice.string() + ".new";
  fs::remove(fresh);
  fs::create_symlink(folder.filename(), fresh);
  fs::rename(fresh, choice);
  io::sync_folder(choice.parent_path());
}

bool remove_libraries(const fs::path& program) {
  const fs::path libraries = existing_libraries(program);
  return !libraries.empty() && fs::remove_all(libraries) > 0;
}

}  // namespace plimsoll::launch
