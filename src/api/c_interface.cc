// The functions of plimsoll.h. Each checks its handles and turns exceptions into statuses.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/array_graph.h"
#include "api/border.h"
#include "api/loader.h"
#include "api/plimsoll.h"
#include "base/parallel.h"
#include "formats/data_root.h"
#include "plan/describe.h"

namespace api = plimsoll::api;
// NOLINTBEGIN(google-global-names-in-headers): this is no header, but is compiled with other files
using plimsoll::ErrorKind;
using plimsoll::fail;
// NOLINTEND(google-global-names-in-headers)

struct plimsoll_store {
  explicit plimsoll_store(plimsoll::graph::Store opened) : store(std::move(opened)) {}
  const api::Process process;
  const plimsoll::graph::Store store;
  mutable std::mutex mutex;
  std::weak_ptr<api::Residence> residence;  // of its loaders, while there are any
};

struct plimsoll_loader {
  plimsoll_loader(std::shared_ptr<api::Residence> residence, const api::LoaderOptions& options)
      : loader(std::move(residence), options) {}
  const api::Process process;
  api::Loader loader;
};

struct plimsoll_batch_handle {
  explicit plimsoll_batch_handle(std::unique_ptr<api::LentBatch> lent) : batch(std::move(lent)) {}
  const api::Process process;
  std::unique_ptr<api::LentBatch> batch;
};

namespace {

template <typename Handle>
Handle& checked(Handle* handle) {
  if (handle == nullptr) fail(ErrorKind::usage, "a handle is a null pointer");
  handle->process.check();
  return *handle;
}

template <typename T>
T* checked_output(T* out) {
  if (out == nullptr) fail(ErrorKind::usage, "the place for a result is a null pointer");
  return out;
}

// In a forked child a handle is left alone: its threads are not there to be ended.
template <typename Handle>
void close(Handle* handle) noexcept {
  if (handle != nullptr && handle->process.is_this()) delete handle;
}

api::LoaderOptions options_of(const plimsoll_loader_options* given) {
  const auto from =
      api::read_structure(given, offsetof(plimsoll_loader_options, pinning));  // added later
  if (from.hops > 0 && from.fanout == nullptr) {
    fail(ErrorKind::usage, "the fan-out is a null pointer");
  }
  if (from.nodes == nullptr && from.node_count > 0) {
    fail(ErrorKind::usage, "the list of nodes is a null pointer with {} nodes", from.node_count);
  }
  if (from.nodes != nullptr && from.split != nullptr) {
    fail(ErrorKind::usage, "both a split and a list of nodes are given; give one of them");
  }
  if (from.labels > PLIMSOLL_NO_LABELS)
    fail(ErrorKind::usage, "labels is {}; choose 0, 1 or 2", from.labels);
  if (from.pinning > PLIMSOLL_PINNED_UNTIL_COPIED)
    fail(ErrorKind::usage, "pinning is {}; choose 0, 1 or 2", from.pinning);
  api::LoaderOptions options{
      .batch_size = from.batch_size,
      .all_nodes = from.split == nullptr && from.nodes == nullptr,
      .seed = from.seed,
      .workers = from.workers,
      .threads = from.threads > 0 ? from.threads : plimsoll::available_threads(),
      .held = from.held > 0 ? from.held : 3,
      .labels = static_cast<api::LabelScope>(from.labels),
      .shuffle = from.shuffle != 0,
      .drop_last = from.drop_last != 0,
      .labor = from.labor != 0,
      .every_hop = from.every_hop != 0,
      .positions = from.positions != 0,
      .pinning = static_cast<api::Pinning>(from.pinning),
      .gpu = from.gpu};
  if (from.hops > 0) options.fanout.assign(from.fanout, from.fanout + from.hops);
  if (from.split != nullptr) options.split = from.split;
  if (from.nodes != nullptr) options.nodes = {from.nodes, from.node_count};
  if (from.memory_bytes > 0) options.memory_bytes = from.memory_bytes;
  return options;
}

// The residence that the store's loaders share; made if there is none. Call with the store's mutex
// held.
std::shared_ptr<api::Residence> residence_for(plimsoll_store& store,
                                              const api::LoaderOptions& options) {
  if (auto shared = store.residence.lock()) {
    const uint64_t limit = shared->share().limit_bytes();
    if (options.memory_bytes && api::process_limit(options.memory_bytes).bytes != limit) {
      fail(ErrorKind::usage,
           "the loaders of {} share a memory limit of {} bytes, which the first one has set; this "
           "one asks for {}. Leave the memory out, or close the other loaders first",
           store.store.folder().string(), limit, *options.memory_bytes);
    }
    return shared;
  }
  return std::make_shared<api::Residence>(store.store,
                                          api::process_limit(options.memory_bytes).bytes);
}

void describe(std::unique_ptr<api::LentBatch> lent, plimsoll_batch* out) {
  plimsoll::batch::Assembler& memory = lent->memory();
  const plimsoll::batch::Batch& batch = memory.batch();
  const plimsoll::batch::FlatBatch& flat = memory.flat();
  plimsoll_batch view = {};
  view.index = batch.index;
  view.seeds = batch.seeds;
  view.nodes = flat.ids().size();
  view.edges = flat.edges();
  view.columns = batch.input.columns;
  view.label_count = flat.labels().size();
  view.hops = flat.hop_edges().size();
  view.x = const_cast<float*>(batch.input.data);  // the caller's now
  view.y = flat.labels().data();
  view.edge_index = flat.ends().data();
  view.n_id = flat.ids().data();
  view.input_id = flat.places().data();
  view.hop_nodes = flat.hop_nodes().data();
  view.hop_edges = flat.hop_edges().data();
  auto handle = std::make_unique<plimsoll_batch_handle>(std::move(lent));
  view.handle = handle.get();
  api::write_structure(view, out);
  static_cast<void>(handle.release());
}

// Before a batch is taken for it: it has at least its handle, by which the batch is given back.
void check_batch(const plimsoll_batch* out) {
  api::check_structure(out, offsetof(plimsoll_batch, index));
}

plimsoll_status held(const api::Loader& loader) {
  api::keep_error(fmt::format(
      "all {} batches that this loader lends are still held; give one back before the next, copy "
      "what must be kept, or let the loader lend more (held)",
      loader.pool().most()));
  return PLIMSOLL_HELD;
}

std::span<const int64_t> checked_ids(const int64_t* nodes, uint64_t count) {
  if (nodes == nullptr && count > 0) fail(ErrorKind::usage, "the list of nodes is a null pointer");
  return {nodes, count};
}

}  // namespace

extern "C" {

int plimsoll_interface(void) { return PLIMSOLL_INTERFACE; }

const char* plimsoll_version(void) { return PLIMSOLL_VERSION; }

const char* plimsoll_last_error(void) { return api::kept_error(); }

plimsoll_status plimsoll_store_open(const char* path, plimsoll_store** out) {
  return api::guarded([&] {
    if (path == nullptr) fail(ErrorKind::usage, "the path of the store is a null pointer");
    checked_output(out);
    *out = new plimsoll_store(plimsoll::formats::open_store(path));
    return PLIMSOLL_OK;
  });
}

void plimsoll_store_close(plimsoll_store* store) { close(store); }

plimsoll_status plimsoll_store_shape(const plimsoll_store* store, plimsoll_shape* out) {
  return api::guarded([&] {
    const plimsoll::graph::Store& opened = checked(store).store;
    const plimsoll::graph::Meta& meta = opened.meta();
    const plimsoll_shape shape = {
        .size = 0,
        .nodes = meta.nodes,
        .edges = meta.edges,
        .columns = meta.feature_columns,
        .classes = meta.classes,
        .labelled = meta.labelled,
        .train_nodes = meta.split_sizes[0],
        .valid_nodes = meta.split_sizes[1],
        .test_nodes = meta.split_sizes[2],
        .row_bytes = meta.row_bytes,
        .store_bytes = opened.size_bytes(),
        .undirected = meta.direction == plimsoll::graph::Direction::undirected ? 1U : 0U,
        .feature_bits = meta.feature_type == plimsoll::graph::FeatureType::f16 ? 16U : 32U,
        .precomputed = meta.first_layer == plimsoll::graph::FirstLayer::none ? 0U : 1U,
        .reserved = 0};
    api::write_structure(shape, out);
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_store_split(const plimsoll_store* store, const char* split, int64_t* out) {
  return api::guarded([&] {
    const plimsoll::graph::Store& opened = checked(store).store;
    if (split == nullptr) fail(ErrorKind::usage, "the name of the split is a null pointer");
    checked_output(out);
    const api::LoaderOptions options{.fanout = {1}, .split = split};
    api::check(options, opened);
    api::Residence residence(opened, api::process_limit({}).bytes);
    const auto ids = residence.ids();
    const api::SeedList seeds = api::list_seeds(options, residence);
    for (uint64_t i = 0; i < seeds.nodes.size(); ++i) out[i] = ids[seeds.nodes[i]];
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_store_ids(const plimsoll_store* store, int64_t* out) {
  return api::guarded([&] {
    const plimsoll::graph::Store& opened = checked(store).store;
    checked_output(out);
    api::Residence residence(opened, api::process_limit({}).bytes);
    std::ranges::copy(residence.ids(), out);
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_plan(plimsoll_store* store, const plimsoll_loader_options* options,
                              char** json) {
  return api::guarded([&] {
    plimsoll_store& from = checked(store);
    const api::LoaderOptions wanted = options_of(options);
    checked_output(json);
    api::check(wanted, from.store);
    // The limit may be more than this machine has: a plan is also for other machines.
    api::Residence residence(
        from.store, wanted.memory_bytes ? *wanted.memory_bytes : api::process_limit({}).bytes);
    const api::SeedList seeds = api::list_seeds(wanted, residence);
    const auto plan = api::plan_loader(wanted, residence, seeds.nodes);
    auto object = plimsoll::plan::to_json(plan);
    object["host_bytes"] = plan.runtime_bytes;
    const std::string text = object.dump();
    char* const copy = strdup(text.c_str());
    if (copy == nullptr) throw std::bad_alloc();
    *json = copy;
    return PLIMSOLL_OK;
  });
}

void plimsoll_text_free(char* text) { std::free(text); }

plimsoll_status plimsoll_loader_open(plimsoll_store* store, const plimsoll_loader_options* options,
                                     plimsoll_loader** out) {
  return api::guarded([&] {
    plimsoll_store& from = checked(store);
    const api::LoaderOptions wanted = options_of(options);
    checked_output(out);
    api::check(wanted, from.store);
    const std::lock_guard lock(from.mutex);
    auto residence = residence_for(from, wanted);
    *out = new plimsoll_loader(residence, wanted);
    from.residence = residence;
    return PLIMSOLL_OK;
  });
}

void plimsoll_loader_close(plimsoll_loader* loader) { close(loader); }

uint64_t plimsoll_loader_batches(const plimsoll_loader* loader) {
  return loader == nullptr ? 0 : loader->loader.batches();
}

plimsoll_status plimsoll_loader_start(plimsoll_loader* loader, uint64_t epoch) {
  return api::guarded([&] {
    checked(loader).loader.start(epoch);
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_loader_next(plimsoll_loader* loader, int64_t timeout_ms,
                                     plimsoll_batch* out) {
  return api::guarded([&] {
    api::Loader& from = checked(loader).loader;
    check_batch(out);
    std::optional<std::chrono::milliseconds> patience;
    if (timeout_ms >= 0) patience.emplace(timeout_ms);
    std::unique_ptr<api::LentBatch> batch;
    switch (from.next(patience, batch)) {
      case api::NextResult::end:
        return PLIMSOLL_END;
      case api::NextResult::wait:
        return PLIMSOLL_WAIT;
      case api::NextResult::held:
        return held(from);
      case api::NextResult::batch:
        break;
    }
    describe(std::move(batch), out);
    return PLIMSOLL_OK;
  });
}

void plimsoll_batch_give_back(plimsoll_batch_handle* handle) { close(handle); }

// Called by the interpreter, whose functions are therefore in this process.
void plimsoll_batch_capsule_end(void* capsule) {
  using GetPointer = void* (*)(void*, const char*);
  static const auto get_pointer =
      reinterpret_cast<GetPointer>(dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer"));
  if (get_pointer == nullptr) return;
  close(static_cast<plimsoll_batch_handle*>(get_pointer(capsule, "plimsoll_batch")));
}

plimsoll_status plimsoll_loader_sample(plimsoll_loader* loader, const int64_t* nodes,
                                       uint64_t count, uint64_t epoch, uint64_t index,
                                       plimsoll_batch* out) {
  return api::guarded([&] {
    api::Loader& from = checked(loader).loader;
    check_batch(out);
    if (count == 0) fail(ErrorKind::usage, "the list of nodes is empty; give at least one");
    auto batch = from.sample(checked_ids(nodes, count), epoch, index);
    if (!batch) return held(from);
    describe(std::move(batch), out);
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_loader_rows(plimsoll_loader* loader, const int64_t* nodes, uint64_t count,
                                     float* out) {
  return api::guarded([&] {
    api::Loader& from = checked(loader).loader;
    from.read_rows(checked_ids(nodes, count), checked_output(out));
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_loader_labels(plimsoll_loader* loader, const int64_t* nodes,
                                       uint64_t count, int64_t* out) {
  return api::guarded([&] {
    api::Loader& from = checked(loader).loader;
    from.read_labels(checked_ids(nodes, count), checked_output(out));
    return PLIMSOLL_OK;
  });
}

plimsoll_status plimsoll_loader_state_now(const plimsoll_loader* loader,
                                          plimsoll_loader_state* out) {
  return api::guarded([&] {
    auto& from = const_cast<api::Loader&>(checked(loader).loader);  // measuring changes the share
    api::Residence& residence = from.residence();
    residence.share().look();
    const plimsoll::batch::ReadCounts reads = from.reads();
    const auto& rows = residence.rows();
    api::write_structure(
        {.size = 0,
         .limit_bytes = residence.share().limit_bytes(),
         .leased_bytes = residence.ledger().used_bytes(),
         .host_bytes = residence.share().host_bytes(),
         .over_bytes = residence.share().over_bytes(),
         .resident_rows = rows.file().line_bytes() / std::max<uint64_t>(1, rows.shape().row_bytes),
         .rows = reads.rows,
         .rows_on_disk = reads.rows_on_disk,
         .bytes_read = reads.bytes,
         .workers = from.workers(),
         .held = from.pool().lent(),
         .pinned_bytes = from.pinned_bytes()},
        out);
    return PLIMSOLL_OK;
  });
}

const char* plimsoll_loader_pinning_problem(const plimsoll_loader* loader) {
  thread_local std::string t_problem;
  api::guarded([&] {
    t_problem.clear();
    t_problem = checked(loader).loader.pinning_problem();
    return PLIMSOLL_OK;
  });
  return t_problem.c_str();
}

plimsoll_status plimsoll_import(const plimsoll_import_options* options) {
  return api::guarded([&] {
    api::import_arrays(api::read_structure(options, sizeof(plimsoll_import_options)));
    return PLIMSOLL_OK;
  });
}

}  // extern "C"
