#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "api/loader.h"
#include "base/error.h"
#include "base/units.h"
#include "io/file.h"
#include "memory/index_set.h"
#include "memory/usage.h"
#include "plan/machine_cache.h"
#include "plan/probe.h"

namespace plimsoll::api {
namespace {

constexpr uint64_t kDiskReads = 4'000;   // for a plan
constexpr unsigned kMostThreads = 4096;  // as the program's --threads
constexpr std::array<const char*, 3> kSplitNames = {"train", "valid", "test"};

std::optional<size_t> split_index(const std::string& name) {
  const auto* const found = std::ranges::find(kSplitNames, name);
  if (found == kSplitNames.end()) return {};
  return static_cast<size_t>(found - kSplitNames.begin());
}

memory::Buffer<uint32_t> load_split(Residence& residence, const std::string& name) {
  const graph::Store& store = residence.store();
  const auto file = store.file("split." + name + ".u32");
  const uint64_t count = store.meta().split_sizes.at(*split_index(name));
  auto nodes = io::load_array<uint32_t>(residence.ledger(), "splits", file, count, 1,
                                        [](std::span<const uint32_t>) {});
  const auto span = nodes.span();
  const bool ordered = std::ranges::adjacent_find(span, std::greater_equal<>()) == span.end();
  if (!ordered || span.back() >= store.meta().nodes) {
    fail(ErrorKind::store, "{}: positions are not ascending below {}; import the graph again",
         file.string(), store.meta().nodes);
  }
  return nodes;
}

memory::Buffer<uint32_t> find_nodes(Residence& residence, std::span<const int64_t> ids) {
  const auto positions = residence.positions();
  memory::Buffer<uint32_t> nodes(residence.ledger(), "splits", ids.size());
  memory::IndexSet met(residence.ledger(), positions.size(), "splits");
  for (size_t i = 0; i < ids.size(); ++i) {
    const uint32_t node = residence.position_of(positions, ids[i]);
    if (met.has(node)) {
      fail(ErrorKind::input, "node {} is given twice; every node may be given once", ids[i]);
    }
    met.add(node);
    nodes[i] = node;
  }
  return nodes;
}

// What an earlier run has measured, else nothing: measuring takes seconds, and the plan then
// assumes an ordinary machine.
plan::Machine cached_machine(const graph::Store& store, unsigned threads) {
  const auto key = plan::machine_key(store.features_file(), threads, "cpu");
  return plan::load_machine(plan::machine_cache_file(), key).value_or(plan::Machine());
}

}  // namespace

void check(const LoaderOptions& options, const graph::Store& store) {
  const graph::Meta& meta = store.meta();
  const std::string folder = store.folder().string();
  if (options.fanout.empty()) {
    fail(ErrorKind::usage, "no fan-out is given; give the number of neighbours for each hop");
  }
  if (options.batch_size == 0 || options.batch_size > UINT32_MAX) {
    fail(ErrorKind::usage, "batch size {}; it must be from 1 to {}", options.batch_size,
         UINT32_MAX);
  }
  for (const auto& [what, count] :
       {std::pair("workers", options.workers), std::pair("threads", options.threads)}) {
    if (count > kMostThreads) {
      fail(ErrorKind::usage, "{} {}; at most {}", count, what, kMostThreads);
    }
  }
  if (options.held < 1) fail(ErrorKind::usage, "no batch may be held; at least 1 is needed");
  if (meta.first_layer != graph::FirstLayer::none) {
    fail(ErrorKind::input,
         "{} holds precomputed sums instead of features (plimsoll precompute); use the store that "
         "it was made from",
         folder);
  }
  if (!options.split.empty()) {
    const auto split = split_index(options.split);
    if (!split) {
      fail(ErrorKind::usage, "'{}' is not a split; choose train, valid or test", options.split);
    }
    if (meta.split_sizes.at(*split) == 0) {
      fail(ErrorKind::input, "{} has no {} nodes; give the nodes themselves", folder,
           options.split);
    }
  } else if (!options.all_nodes && options.nodes.empty()) {
    fail(ErrorKind::input, "the list of nodes is empty; give at least one");
  }
}

memory::Limit process_limit(const std::optional<uint64_t>& memory_bytes) {
  if (memory_bytes) return memory::choose_limit(memory_bytes, memory::detect_limit());
  memory::Limit limit = memory::automatic_limit();
  const uint64_t most = memory::detect_limit().bytes;
  limit.bytes = std::min(most, limit.bytes + memory::process_usage().resident_bytes);
  return limit;
}

SeedList list_seeds(const LoaderOptions& options, Residence& residence) {
  SeedList list;
  if (options.all_nodes) {
    list.nodes = residence.positions();
    return list;
  }
  list.owned = options.split.empty() ? find_nodes(residence, options.nodes)
                                     : load_split(residence, options.split);
  list.nodes = list.owned.span();
  return list;
}

plan::Plan plan_loader(const LoaderOptions& options, Residence& residence,
                       std::span<const uint32_t> seeds) {
  const graph::Store& store = residence.store();
  recipe::Recipe recipe;
  recipe.model = recipe::ModelKind::gat;  // its batches have the rows themselves, no sums
  recipe.fanout = options.fanout;
  recipe.batch_size = options.batch_size;
  recipe.sampler = options.labor ? recipe::Draw::labor : recipe::Draw::uniform;
  memory::Ledger ledger(plan::kPlanningBytes);
  plan::StoreShape shape = plan::read_shape(store, ledger);
  shape.train_nodes = seeds.size();
  shape.evaluated_nodes = 0;
  plan::DrawBudget budget = plan::draw_budget(store, kDiskReads);
  budget.from = seeds;
  budget.in_order = !options.shuffle;
  const plan::Draws draws = plan::draw(store, recipe, budget, ledger);
  const uint64_t table_bytes = memory::Buffer<uint32_t>::bytes_needed(shape.nodes);
  const bool labels = options.labels == LabelScope::all && store.meta().classes > 0;
  const bool inverse = options.all_nodes || options.split.empty();
  const uint64_t tables =
      (options.positions && !inverse ? 0 : 1) + (labels ? 1 : 0) + (inverse ? 1 : 0);
  residence.share().look();
  const plan::Question question = {
      .store = shape,
      .recipe = recipe,
      .probe = plan::expect_batch(draws, shape, options.batch_size),
      .limit_bytes = residence.share().limit_bytes(),
      .runtime_bytes = residence.share().host_bytes(),
      .threads = options.threads,
      .workers = options.workers,
      .machine = cached_machine(store, options.threads),
      .loading = plan::Loading{
          .held = options.held,
          .tables_bytes = tables * table_bytes + Loader::sample_bytes(options.batch_size)}};
  return plan::make_plan(question);
}

void check_fits(const plan::Plan& plan, const HostShare& share) {
  if (plan.fits) return;
  fail(ErrorKind::memory,
       "the limit is {}, and this loader needs {} at least, of which {} are this program's own; "
       "raise the memory limit, or lower the batch size, the fan-out, the number of workers or of "
       "held batches",
       format_bytes(plan.limit_bytes), format_bytes_up(plan.minimum_bytes),
       format_bytes(share.host_bytes()));
}

}  // namespace plimsoll::api
