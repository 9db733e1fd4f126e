#include "api/loader.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "io/file.h"
#include "recipe/recipe.h"

namespace plimsoll::api {
namespace {

constexpr uint64_t kRowsOfARead = 4096;
constexpr std::chrono::microseconds kLook{50};  // between two looks whether a copy has ended

std::shared_ptr<gpu::PinnedPages> pages_for(const LoaderOptions& options) {
  if (options.pinning == Pinning::none) return nullptr;
  return std::make_shared<gpu::PinnedPages>(static_cast<int>(options.gpu), options.driver == nullptr
                                                                               ? gpu::cuda::driver()
                                                                               : *options.driver);
}

}  // namespace

BatchPool::BatchPool(std::shared_ptr<Residence> residence, size_t hops, unsigned most,
                     std::shared_ptr<gpu::PinnedPages> pages, Pinning pinning)
    : residence_(std::move(residence)),
      hops_(hops),
      most_(most),
      pages_(std::move(pages)),
      watched_(pages_ && pinning == Pinning::watched) {}

// Call with the mutex held.
void BatchPool::collect() {
  while (!returned_.empty() && returned_.front().copied->passed()) {
    free_.push_back(std::move(returned_.front().memory));
    returned_.pop_front();
  }
}

bool BatchPool::wait(std::optional<std::chrono::milliseconds> patience) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      collect();
      if (!free_.empty() || lent_ == most_ || lent_ + returned_.size() < most_) return true;
    }
    if (patience && std::chrono::steady_clock::now() - begin >= *patience) return false;
    std::this_thread::sleep_for(kLook);
  }
}

std::unique_ptr<batch::Assembler> BatchPool::lend() {
  wait({});
  const std::lock_guard lock(mutex_);
  if (lent_ == most_) return nullptr;
  ++lent_;
  if (free_.empty()) {
    return std::make_unique<batch::Assembler>(residence_->ledger(), hops_,
                                              batch::BatchPages::of(pages_.get(), true));
  }
  auto memory = std::move(free_.back());
  free_.pop_back();
  return memory;
}

void BatchPool::give_back(std::unique_ptr<batch::Assembler> memory) {
  std::unique_ptr<gpu::PinnedPages::CopyMark> copied;
  if (watched_) copied = std::make_unique<gpu::PinnedPages::CopyMark>(*pages_);
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    if (!closed_ && copied) returned_.push_back({std::move(memory), std::move(copied)});
    if (!closed_ && memory) free_.push_back(std::move(memory));
  }
  if (copied) copied->wait();
}

void BatchPool::close() {
  std::deque<Returned> returned;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    free_.clear();
    returned.swap(returned_);
  }
  for (const Returned& one : returned) one.copied->wait();
}

unsigned BatchPool::lent() const {
  const std::lock_guard lock(mutex_);
  return lent_;
}

Loader::Loader(std::shared_ptr<Residence> residence, const LoaderOptions& options)
    : residence_(std::move(residence)),
      options_(options),
      seat_(*residence_),
      pages_(pages_for(options)),
      seeds_(list_seeds(options, *residence_)),
      asked_(residence_->ledger(), "sampled nodes"),
      sorted_(residence_->ledger(), "sampled nodes"),
      pool_(std::make_shared<BatchPool>(residence_, options.fanout.size(), options.held, pages_,
                                        options.pinning)) {
  options_.nodes = {};  // the caller's
  const plan::Plan plan = plan_loader(options_, *residence_, seeds_.nodes);
  arrangement_ = plan.arrangement;
  // Tables first: they are needed as a whole, and lines take what is left.
  if (!options_.positions) tables_.ids = residence_->ids();
  if (options_.labels == LabelScope::all) tables_.labels = residence_->labels();
  if (options_.labels == LabelScope::seeds) load_seed_labels();
  share_residence(plan);
  pipeline_ = std::make_unique<batch::Pipeline>(residence_->topology(), residence_->rows(),
                                                pipeline_options(), residence_->ledger());
}

Loader::~Loader() {
  pool_->close();
  residence_->share().need_less(needed_bytes_);
}

// The first loader of a residence loads it. The others find its lines where that one has put them,
// and its windows are the largest that they can have.
void Loader::share_residence(const plan::Plan& plan) {
  // The least with which it goes on when the rest of the process grows: no windows, one batch
  // ahead.
  const uint64_t least = plan.minimum_bytes - plan::headroom_bytes(plan.minimum_bytes);
  const uint64_t needed = least - std::min(least, plan.runtime_bytes);
  if (residence_->loaded()) {
    const plan::Arrangement& first = residence_->arrangement();
    arrangement_.window_bytes = std::min(arrangement_.window_bytes, first.window_bytes);
    if (first.window <= 1) arrangement_.window = 1;
    residence_->share().need_more(needed);
  } else {
    check_fits(plan, residence_->share());
    residence_->load(arrangement_, options_.threads, needed);
  }
  needed_bytes_ = needed;
}

batch::PipelineOptions Loader::pipeline_options() const {
  return {.fanout = options_.fanout,
          .draw = options_.labor ? recipe::Draw::labor : recipe::Draw::uniform,
          .expansion = options_.every_hop ? sample::Expansion::every_hop : sample::Expansion::once,
          .assembly = {.input = batch::Input::rows, .weighting = batch::Weighting::none},
          .flat = &tables_,
          .workers = arrangement_.workers,
          .slots = arrangement_.workers + arrangement_.ahead,  // those that are held are the pool's
          .window = arrangement_.windows(),
          .pages = pages_.get()};
}

uint64_t Loader::sample_bytes(uint64_t nodes) {
  return 2 * memory::Growing<uint32_t>::renewed_bytes(nodes);
}

void Loader::load_seed_labels() {
  const graph::Store& store = residence_->store();
  if (store.meta().classes == 0) return;
  const auto labels =
      io::load_array<int32_t>(residence_->ledger(), "labels", store.file("labels.i32"),
                              store.meta().nodes, 1, [](std::span<const int32_t>) {});
  seed_labels_ = memory::Buffer<int32_t>(residence_->ledger(), "splits", seeds_.nodes.size());
  for (uint64_t i = 0; i < seeds_.nodes.size(); ++i) seed_labels_[i] = labels[seeds_.nodes[i]];
}

uint64_t Loader::batches() const {
  const uint64_t nodes = seeds_.nodes.size();
  const uint64_t whole = nodes / options_.batch_size;
  return whole + (!options_.drop_last && nodes % options_.batch_size != 0 ? 1 : 0);
}

void Loader::start(uint64_t epoch) {
  using recipe::epoch_key;
  using recipe::Purpose;
  const batch::Seeds seeds =
      options_.shuffle
          ? batch::Seeds::shuffled(seeds_.nodes, epoch_key(options_.seed, Purpose::shuffle, epoch))
          : batch::Seeds::in_order(seeds_.nodes);
  taken_ = 0;
  started_ = true;
  pipeline_->start({.seeds = seeds,
                    .labels = seed_labels_.span(),
                    .batch_size = options_.batch_size,
                    .key = epoch_key(options_.seed, Purpose::draws, epoch)});
}

NextResult Loader::next(std::optional<std::chrono::milliseconds> patience,
                        std::unique_ptr<LentBatch>& out) {
  if (!started_) fail(ErrorKind::usage, "no pass has been started");
  if (taken_ == batches()) return NextResult::end;
  if (pool_->lent() == pool_->most()) return NextResult::held;
  residence_->share().look_if_due();
  if (patience && !(pipeline_->wait(*patience) && pool_->wait(patience))) return NextResult::wait;
  const batch::Batch* const batch = pipeline_->take();
  if (batch == nullptr) return NextResult::end;
  if (batch->seeds != batch->whole) {
    const uint64_t seeds = batch->whole;
    pipeline_->give_back(batch);
    pipeline_->stop();
    started_ = false;
    fail(ErrorKind::memory,
         "a batch of {} seeds does not fit into memory: the limit is {}, this program itself has "
         "{}, and {} batches are held; raise the memory limit, or lower the batch size, the "
         "fan-out or the number of held batches",
         seeds, format_bytes(residence_->share().limit_bytes()),
         format_bytes(residence_->share().host_bytes()), pool_->lent());
  }
  auto lent = std::make_unique<LentBatch>(pool_, pool_->lend());
  pipeline_->trade(batch, lent->memory());
  ++taken_;
  out = std::move(lent);
  return NextResult::batch;
}

sample::Sampler& Loader::sampler() {
  if (!sampler_) {
    sampler_ = std::make_unique<sample::Sampler>(
        residence_->topology(),
        sample::SamplerOptions{
            .fanout = options_.fanout,
            .expansion =
                options_.every_hop ? sample::Expansion::every_hop : sample::Expansion::once,
            .draw = options_.labor ? recipe::Draw::labor : recipe::Draw::uniform},
        residence_->ledger());
  }
  return *sampler_;
}

std::unique_ptr<LentBatch> Loader::sample(std::span<const int64_t> ids, uint64_t epoch,
                                          uint64_t index) {
  if (pool_->lent() == pool_->most()) return nullptr;
  const auto positions = residence_->positions();
  asked_.renew(ids.size());
  sorted_.renew(ids.size());
  const auto nodes = asked_.first(ids.size());
  const auto sorted = sorted_.first(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) nodes[i] = residence_->position_of(positions, ids[i]);
  std::ranges::copy(nodes, sorted.begin());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    fail(ErrorKind::input, "node {} is given twice; every node may be given once",
         residence_->ids()[*twice]);
  }
  auto lent = std::make_unique<LentBatch>(pool_, pool_->lend());
  batch::Assembler& memory = lent->memory();
  const uint64_t key = recipe::epoch_key(options_.seed, recipe::Purpose::draws, epoch);
  sampler().sample(nodes, RandomStream(key, index).at(0), memory.neighborhood());
  memory.batch() = {.index = index,
                    .whole = static_cast<uint32_t>(nodes.size()),
                    .seeds = static_cast<uint32_t>(nodes.size())};
  memory.flat().fill(memory.neighborhood(), tables_, {}, [](uint32_t i) { return i; });
  return lent;
}

void Loader::read_rows(std::span<const int64_t> ids, float* out) {
  const auto positions = residence_->positions();
  const uint32_t columns = residence_->rows().shape().columns;
  batch::Assembler memory(residence_->ledger(), 0, {});
  batch::Gatherer gatherer(
      residence_->rows(), [this]() -> io::ReadQueue& { return sampler().queue(); },
      residence_->ledger());
  for (uint64_t first = 0; first < ids.size(); first += kRowsOfARead) {
    const auto some = ids.subspan(first, std::min(kRowsOfARead, ids.size() - first));
    sample::Neighborhood& nodes = memory.neighborhood();
    nodes.seeds = static_cast<uint32_t>(some.size());
    nodes.nodes.renew(some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      nodes.nodes[i] = residence_->position_of(positions, some[i]);
    }
    memory.prepare({.input = batch::Input::rows}, columns);
    gatherer.gather(memory);
    std::memcpy(out + first * columns, memory.batch().input.data,
                some.size() * columns * sizeof(float));
  }
}

void Loader::read_labels(std::span<const int64_t> ids, int64_t* out) {
  const auto positions = residence_->positions();
  const auto labels = residence_->labels();
  if (labels.empty()) {
    fail(ErrorKind::input, "{} has no labels; import it with labels",
         residence_->store().folder().string());
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    out[i] = labels[residence_->position_of(positions, ids[i])];
  }
}

}  // namespace plimsoll::api
