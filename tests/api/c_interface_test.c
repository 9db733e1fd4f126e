/* Uses the C interface as a C program would: makes a store from arrays, loads batches of it, and
 * looks at what is refused. Prints what is wrong and returns 1, or prints nothing. Argument: an
 * empty folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plimsoll.h"

#define NODES 300
#define EDGES 3000
#define COLUMNS 4

static int failures = 0;

#define EXPECT(condition)                                                                   \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      printf("line %d: %s; last error: %s\n", __LINE__, #condition, plimsoll_last_error()); \
      ++failures;                                                                           \
    }                                                                                       \
  } while (0)

static int64_t sources[EDGES];
static int64_t destinations[EDGES];
static float features[NODES][COLUMNS];
static int64_t labels[NODES];
static uint8_t train[NODES];

static void make_arrays(void) {
  unsigned long long state = 1;
  for (int i = 0; i < EDGES; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    sources[i] = (int64_t)((state >> 33) % NODES);
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    destinations[i] = (int64_t)((state >> 33) % NODES);
  }
  for (int i = 0; i < NODES; ++i) {
    for (int j = 0; j < COLUMNS; ++j) features[i][j] = (float)(i * COLUMNS + j);
    labels[i] = i % 5;
    train[i] = i % 2 == 0;
  }
}

static plimsoll_array array_of(const void* data, uint64_t count, int64_t stride, uint32_t type) {
  plimsoll_array array = {data, count, stride, type, 0};
  return array;
}

static plimsoll_import_options import_options(const char* path) {
  plimsoll_import_options options = {0};
  options.size = sizeof options;
  options.out = path;
  options.nodes = NODES;
  options.sources = array_of(sources, EDGES, sizeof *sources, PLIMSOLL_I64);
  options.destinations = array_of(destinations, EDGES, sizeof *destinations, PLIMSOLL_I64);
  options.features = array_of(features, NODES, sizeof *features, PLIMSOLL_F32);
  options.columns = COLUMNS;
  options.labels = array_of(labels, NODES, sizeof *labels, PLIMSOLL_I64);
  options.splits[0] = array_of(train, NODES, 1, PLIMSOLL_BOOL);
  options.feature_bits = 32;
  return options;
}

static plimsoll_status import_store(const char* path, uint32_t replace) {
  plimsoll_import_options options = import_options(path);
  options.replace = replace;
  return plimsoll_import(&options);
}

/* An array that should be there and is not. */
static void check_missing_arrays(const char* path) {
  for (int i = 0; i < 5; ++i) {
    plimsoll_import_options options = import_options(path);
    plimsoll_array* arrays[5] = {&options.sources, &options.destinations, &options.features,
                                 &options.labels, &options.splits[0]};
    arrays[i]->data = NULL;
    EXPECT(plimsoll_import(&options) == PLIMSOLL_USAGE);
    EXPECT(strstr(plimsoll_last_error(), "null pointer") != NULL);
  }
}

static int has_edge(int64_t source, int64_t destination) {
  for (int i = 0; i < EDGES; ++i) {
    if (sources[i] == source && destinations[i] == destination) return 1;
  }
  return 0;
}

static void check_batch(const plimsoll_batch* batch) {
  EXPECT(batch->columns == COLUMNS && batch->hops == 2 && batch->label_count == batch->nodes);
  EXPECT(batch->hop_nodes[0] == (int64_t)batch->seeds);
  for (uint64_t i = 0; i < batch->nodes; ++i) {
    EXPECT(batch->y[i] == labels[batch->n_id[i]]);
    EXPECT(memcmp(batch->x + i * COLUMNS, features[batch->n_id[i]], sizeof features[0]) == 0);
  }
  for (uint64_t i = 0; i < batch->edges; ++i) {
    EXPECT(has_edge(batch->n_id[batch->edge_index[i]],
                    batch->n_id[batch->edge_index[batch->edges + i]]));
  }
}

static void check_passes(plimsoll_loader* loader) {
  plimsoll_batch batch = {0};
  batch.size = sizeof batch;
  EXPECT(plimsoll_loader_next(loader, -1, &batch) == PLIMSOLL_USAGE); /* not started */
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT(plimsoll_loader_start(loader, epoch) == PLIMSOLL_OK);
    uint64_t seeds = 0;
    plimsoll_status status = PLIMSOLL_OK;
    while ((status = plimsoll_loader_next(loader, 50, &batch)) != PLIMSOLL_END) {
      if (status == PLIMSOLL_WAIT) continue;
      EXPECT(status == PLIMSOLL_OK);
      if (status != PLIMSOLL_OK) return;
      check_batch(&batch);
      seeds += batch.seeds;
      plimsoll_batch_give_back(batch.handle);
    }
    EXPECT(seeds == NODES / 2);
  }
}

/* What is left out or contradicts itself is refused, and costs nothing. */
static void check_refusals(plimsoll_store* store, const plimsoll_loader_options* good) {
  plimsoll_loader_options options = *good;
  plimsoll_loader* loader = NULL;
  const int64_t nodes[2] = {1, 2};
  options.nodes = nodes;
  options.node_count = 2;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_USAGE); /* and a split */
  options.split = NULL;
  options.nodes = NULL;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_USAGE);
  EXPECT(strstr(plimsoll_last_error(), "null pointer") != NULL);
  options.node_count = 0;
  options.workers = 100000;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_USAGE);
  options.workers = 0;
  options.threads = 100000;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_USAGE);
  EXPECT(loader == NULL);
  options.threads = 0;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_OK);
  /* No batch is lost when there is no room for it. */
  plimsoll_batch batch = {0};
  EXPECT(plimsoll_loader_start(loader, 0) == PLIMSOLL_OK);
  EXPECT(plimsoll_loader_next(loader, -1, &batch) == PLIMSOLL_USAGE);
  batch.size = sizeof batch.size;
  EXPECT(plimsoll_loader_next(loader, -1, &batch) == PLIMSOLL_USAGE);
  batch.size = sizeof batch;
  EXPECT(plimsoll_loader_next(loader, -1, &batch) == PLIMSOLL_OK && batch.index == 0);
  plimsoll_batch_give_back(batch.handle);
  plimsoll_loader_close(loader);
}

/* Handles that are copied by a fork are refused, and closing them returns. */
static void check_fork(plimsoll_store* store, plimsoll_loader* loader) {
  const pid_t child = fork();
  if (child == 0) {
    plimsoll_batch batch = {0};
    batch.size = sizeof batch;
    const int refused = plimsoll_loader_next(loader, -1, &batch) == PLIMSOLL_USAGE &&
                        strstr(plimsoll_last_error(), "forked child") != NULL;
    plimsoll_loader_close(loader);
    plimsoll_store_close(store);
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char path[4096];
  snprintf(path, sizeof path, "%s/small.plim", argv[1]);
  make_arrays();
  EXPECT(plimsoll_interface() == PLIMSOLL_INTERFACE);
  EXPECT(strlen(plimsoll_version()) > 0);
  check_missing_arrays(path);
  EXPECT(import_store(path, 0) == PLIMSOLL_OK);
  EXPECT(import_store(path, 0) == PLIMSOLL_EXISTS);
  EXPECT(strstr(plimsoll_last_error(), "set replace") != NULL);
  EXPECT(import_store(path, 1) == PLIMSOLL_OK);

  plimsoll_store* store = NULL;
  EXPECT(plimsoll_store_open("/nowhere", &store) != PLIMSOLL_OK);
  EXPECT(store == NULL && strstr(plimsoll_last_error(), "/nowhere") != NULL);
  EXPECT(plimsoll_store_open(path, &store) == PLIMSOLL_OK);
  if (store == NULL) return 1;
  plimsoll_shape shape = {0};
  EXPECT(plimsoll_store_shape(store, &shape) == PLIMSOLL_USAGE); /* its size is missing */
  shape.size = sizeof shape;
  EXPECT(plimsoll_store_shape(store, &shape) == PLIMSOLL_OK);
  EXPECT(shape.nodes == NODES && shape.columns == COLUMNS && shape.train_nodes == NODES / 2);
  int64_t ids[NODES];
  EXPECT(plimsoll_store_split(store, "train", ids) == PLIMSOLL_OK);
  for (int i = 0; i < NODES / 2; ++i) EXPECT(ids[i] % 2 == 0);
  EXPECT(plimsoll_store_split(store, "nonsense", ids) == PLIMSOLL_USAGE);
  EXPECT(plimsoll_store_split(store, "test", ids) == PLIMSOLL_INPUT);
  EXPECT(plimsoll_store_ids(store, ids) == PLIMSOLL_OK);

  const uint32_t fanout[2] = {4, PLIMSOLL_ALL_NEIGHBORS};
  plimsoll_loader_options options = {0};
  options.size = sizeof options;
  options.fanout = fanout;
  options.hops = 2;
  options.batch_size = 16;
  options.split = "train";
  options.shuffle = 1;
  options.held = 1;
  char* json = NULL;
  EXPECT(plimsoll_plan(store, &options, &json) == PLIMSOLL_OK);
  EXPECT(json != NULL && strstr(json, "\"fits\":true") != NULL);
  plimsoll_text_free(json);
  check_refusals(store, &options);
  plimsoll_loader* loader = NULL;
  options.memory_bytes = 1 << 20;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_MEMORY);
  EXPECT(loader == NULL);
  options.memory_bytes = 0;
  EXPECT(plimsoll_loader_open(store, &options, &loader) == PLIMSOLL_OK);
  if (loader == NULL) return 1;
  EXPECT(plimsoll_loader_batches(loader) == (NODES / 2 + 15) / 16);
  check_passes(loader);

  /* Pinned memory, where there is a GPU; a program that was compiled before it could be asked for.
   */
  plimsoll_loader* pinned = NULL;
  options.pinning = 7;
  EXPECT(plimsoll_loader_open(store, &options, &pinned) == PLIMSOLL_USAGE);
  options.pinning = PLIMSOLL_PINNED;
  EXPECT(plimsoll_loader_open(store, &options, &pinned) == PLIMSOLL_OK);
  check_passes(pinned);
  plimsoll_loader_state pins = {0};
  pins.size = sizeof pins;
  EXPECT(plimsoll_loader_state_now(pinned, &pins) == PLIMSOLL_OK);
  EXPECT((pins.pinned_bytes > 0) == (plimsoll_loader_pinning_problem(pinned)[0] == '\0'));
  plimsoll_loader_close(pinned);
  options.size = offsetof(plimsoll_loader_options, pinning);
  EXPECT(plimsoll_loader_open(store, &options, &pinned) == PLIMSOLL_OK);
  EXPECT(plimsoll_loader_pinning_problem(pinned)[0] == '\0');
  plimsoll_loader_close(pinned);
  EXPECT(plimsoll_loader_pinning_problem(NULL)[0] == '\0');

  plimsoll_batch kept = {0};
  kept.size = sizeof kept;
  plimsoll_batch other = kept;
  EXPECT(plimsoll_loader_start(loader, 0) == PLIMSOLL_OK);
  EXPECT(plimsoll_loader_next(loader, -1, &kept) == PLIMSOLL_OK);
  EXPECT(plimsoll_loader_next(loader, -1, &other) == PLIMSOLL_HELD);
  EXPECT(strstr(plimsoll_last_error(), "give one back") != NULL);
  check_fork(store, loader);
  plimsoll_loader_state state = {0};
  state.size = sizeof state;
  EXPECT(plimsoll_loader_state_now(loader, &state) == PLIMSOLL_OK);
  EXPECT(state.held == 1 && state.leased_bytes > 0 && state.host_bytes > 0);
  EXPECT(state.resident_rows == NODES);
  plimsoll_loader_close(loader);
  plimsoll_store_close(store);
  check_batch(&kept); /* still there */
  plimsoll_batch_give_back(kept.handle);
  return failures == 0 ? 0 : 1;
}
