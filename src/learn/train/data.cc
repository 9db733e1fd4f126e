#include "train/data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/progress.h"
#include "batch/window.h"

namespace plimsoll::train {

void Data::check_unchanged() const {
  for (const io::LinedFile* file : {&rows.file(), &topology.neighbors(), &topology.offsets()}) {
    file->check_unchanged();
  }
}

namespace {

std::array<io::LinedFile*, 3> lined_files(const Data& data) {
  return {&data.rows.file(), &data.topology.neighbors(), &data.topology.offsets()};
}

// "4711 14 12 1048576 13 0 -1 0": the process that has loaded the lines, the page of the features'
// line, and for each file the number of its shared memory and its line.
std::string describe_lines(const Data& data) {
  std::string text =
      fmt::format("{} {}", ::getpid(), data.shared_line ? data.shared_line->page() : -1);
  for (const io::LinedFile* file : lined_files(data)) {
    text += fmt::format(" {} {}", file->shared_memory(), file->line_bytes());
  }
  return text;
}

Fd open_shared(int process, int memory) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, memory);
  Fd opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened) {
    fail(ErrorKind::io,
         "cannot open the memory that the ranks of this host share, {}: {}; start all ranks as "
         "the same user and in the same container",
         path, std::strerror(errno));
  }
  return opened;
}

// `place` is this rank's among those of the host.
void adopt_lines(const std::string& described, Data& data, size_t host_ranks, size_t place) {
  std::istringstream words(described);
  int process = 0;
  int page = -1;
  words >> process >> page;
  for (io::LinedFile* file : lined_files(data)) {
    int memory = -1;
    uint64_t line_bytes = 0;
    words >> memory >> line_bytes;
    if (!words) fail(ErrorKind::internal, "lines described as '{}'", described);
    if (line_bytes == 0) continue;
    file->adopt(open_shared(process, memory), line_bytes);
  }
  if (page < 0) return;
  data.shared_line =
      std::make_unique<SharedLine>(data.rows.file(), open_shared(process, page), host_ranks, place);
}

// All ranks of the group call it.
void share_lines(ranks::Group& group, Data& data) {
  const std::vector<unsigned> here = group.host_ranks();
  const bool leads = here.front() == group.place().rank;
  if (leads && here.size() > 1) {
    data.shared_line = std::make_unique<SharedLine>(data.rows.file(), here.size());
  }
  const auto described = group.exchange(leads ? describe_lines(data) : "");
  if (here.size() == 1) return;
  if (!leads) {
    const auto place = std::find(here.begin(), here.end(), group.place().rank) - here.begin();
    adopt_lines(described[here.front()], data, here.size(), static_cast<size_t>(place));
  }
  for (const io::LinedFile* file : lined_files(data)) data.shared_bytes += file->line_bytes();
}

}  // namespace

Data load_data(const graph::Store& store, const plan::Arrangement& arrangement,
               const Execution& run, memory::Ledger& ledger, ranks::Group* group) {
  const graph::Meta& meta = store.meta();
  const bool shared = group != nullptr && group->host_ranks().size() > 1;
  const bool loads = !shared || group->leads_host();
  const plan::Lines lines = loads ? arrangement.lines : plan::Lines{0, 0, 0};
  Progress progress(Progress::detect(run.quiet));
  const auto resident = [](uint64_t file_bytes, uint64_t line_bytes) {
    return std::min(file_bytes, line_bytes);
  };
  progress.start_step("loading the store", "bytes",
                      resident(meta.files.at("offsets.u64").bytes, lines.offsets_bytes) +
                          resident(meta.files.at("neighbors.u32").bytes, lines.neighbors_bytes) +
                          resident(meta.nodes * meta.row_bytes, lines.features_bytes));
  const auto on_bytes = [&](uint64_t bytes) {
    progress.add(bytes);
    if (group != nullptr) group->progress();
  };
  // Splits are small but needed as a whole, so load them before the lines take the rest.
  batch::Splits splits = batch::load_splits(store, ledger);
  Data data{sample::load_topology(store, ledger,
                                  {lines.offsets_bytes, lines.neighbors_bytes, shared && loads},
                                  run.threads, on_bytes),
            feature::load_rows(store, ledger,
                               {.line_bytes = lines.features_bytes,
                                .areas = 2 * arrangement.workers,  // training and evaluating
                                .area_bytes = arrangement.area_bytes,
                                .windows = arrangement.window > 1 ? batch::kWindows : 0,
                                .window_bytes = arrangement.window_bytes,
                                .shared = shared && loads},
                               run.threads, on_bytes),
            std::move(splits)};
  if (group != nullptr) share_lines(*group, data);
  if (shared) return data;
  for (io::LinedFile* file : lined_files(data)) {
    data.reclaimers.push_back(
        ledger.on_shortage([file](uint64_t bytes) { file->lower_by(bytes); }));
  }
  return data;
}

}  // namespace plimsoll::train
