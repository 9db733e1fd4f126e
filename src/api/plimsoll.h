/* plimsoll.h: the C interface of Plimsoll. Opens stores, plans and makes loaders of batches, and
 * makes stores from arrays. docs/reference/c-interface.md is its manual, with an example.
 *
 * Every function may be called by any thread. A loader is for one thread at a time; a batch may be
 * given back by any thread. No function ends the process, prints, or changes how signals are
 * handled. A function that returns a plimsoll_status returns PLIMSOLL_OK, or leaves its outputs as
 * they were.
 *
 * Handles do not survive a fork: in the child, functions refuse them with PLIMSOLL_USAGE, and
 * closing them does nothing. Open the store again in the child.
 *
 * Versions: a structure begins with its size. Set it to sizeof(the structure) and everything else
 * to zero, then fill in what you need: zero is the default of every field. Later versions add
 * fields at the end and functions; they do not change what exists. */
#ifndef PLIMSOLL_H
#define PLIMSOLL_H

/* This is C, where clang-tidy reads it as C++. */
/* NOLINTBEGIN(modernize-deprecated-headers,modernize-use-using,readability-identifier-naming) */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_INTERFACE 1

#if defined(__GNUC__)
#define PLIMSOLL_EXPORT __attribute__((visibility("default")))
#else
#define PLIMSOLL_EXPORT
#endif

/* Positive values are errors, with the numbers of the program's exit codes
 * (docs/reference/errors.md). */
typedef enum plimsoll_status {
  PLIMSOLL_OK = 0,
  PLIMSOLL_END = -1,  /* the pass has no more batches */
  PLIMSOLL_WAIT = -2, /* the batch was not ready in time; ask again */
  PLIMSOLL_HELD = -3, /* the caller has all batches that the loader lends; give one back */

  PLIMSOLL_INTERNAL = 1, /* a bug of Plimsoll */
  PLIMSOLL_USAGE = 2,    /* an argument is wrong */
  PLIMSOLL_INPUT = 3,    /* the arrays or the store do not have what is asked for */
  PLIMSOLL_MEMORY = 4,   /* the memory limit is too small */
  PLIMSOLL_DISK = 5,     /* the disk is full */
  PLIMSOLL_IO = 6,       /* the operating system refused: permission, missing file, read error */
  PLIMSOLL_EXISTS = 7,   /* the output exists already */
  PLIMSOLL_STORE = 8     /* the store is damaged or of another version */
} plimsoll_status;

/* PLIMSOLL_INTERFACE of the library, and its version as text, such as "0.2.0". */
PLIMSOLL_EXPORT int plimsoll_interface(void);
PLIMSOLL_EXPORT const char* plimsoll_version(void);

/* What went wrong in the last call on this thread that did not return PLIMSOLL_OK, with the remedy.
 * Valid until the next call on this thread. */
PLIMSOLL_EXPORT const char* plimsoll_last_error(void);

/* ---- stores ---- */

typedef struct plimsoll_store plimsoll_store;

PLIMSOLL_EXPORT plimsoll_status plimsoll_store_open(const char* path, plimsoll_store** out);
/* Loaders and batches of the store stay valid. */
PLIMSOLL_EXPORT void plimsoll_store_close(plimsoll_store* store);

typedef struct plimsoll_shape {
  size_t size;
  uint64_t nodes;
  uint64_t edges; /* as stored: both directions of an undirected graph */
  uint64_t columns;
  uint64_t classes; /* 0: no labels */
  uint64_t labelled;
  uint64_t train_nodes;
  uint64_t valid_nodes;
  uint64_t test_nodes;
  uint64_t row_bytes;
  uint64_t store_bytes;
  uint32_t undirected;
  uint32_t feature_bits; /* 16 or 32 */
  uint32_t precomputed;  /* 1: rows hold sums of a first layer, not features */
  uint32_t reserved;
} plimsoll_shape;

PLIMSOLL_EXPORT plimsoll_status plimsoll_store_shape(const plimsoll_store* store,
                                                     plimsoll_shape* out);

/* The original ids of a split ("train", "valid", "test"), in the order in which a loader of that
 * split counts them; `out` has room for as many values as the shape says. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_store_split(const plimsoll_store* store, const char* split,
                                                     int64_t* out);

/* Original ids by position in the store; `out` has room for all nodes. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_store_ids(const plimsoll_store* store, int64_t* out);

/* ---- loaders ---- */

typedef struct plimsoll_loader plimsoll_loader;

#define PLIMSOLL_ALL_NEIGHBORS UINT32_MAX

enum {
  PLIMSOLL_LABELS_OF_ALL = 0, /* of all nodes of a batch; takes 4 bytes of memory per node */
  PLIMSOLL_LABELS_OF_SEEDS = 1,
  PLIMSOLL_NO_LABELS = 2
};

/* Memory of batches that a GPU copies from at full speed, and without waiting. */
enum {
  PLIMSOLL_NOT_PINNED = 0,
  PLIMSOLL_PINNED = 1,             /* a batch may be given back while copies of it still run */
  PLIMSOLL_PINNED_UNTIL_COPIED = 2 /* batches are given back when their copies have ended */
};

typedef struct plimsoll_loader_options {
  size_t size;
  const uint32_t* fanout; /* one value per hop, the seeds' first; PLIMSOLL_ALL_NEIGHBORS */
  uint64_t hops;
  uint64_t batch_size;
  const char* split;    /* "train", "valid" or "test"; NULL: `nodes`, or all nodes by original id */
  const int64_t* nodes; /* original ids, each once; read by plimsoll_loader_open only */
  uint64_t node_count;
  uint64_t seed;
  uint64_t memory_bytes; /* limit of the whole process; 0: chosen, see docs/reference/memory.md */
  uint32_t workers;      /* threads that make batches; 0: the plan chooses */
  uint32_t threads;      /* that the plan may use; 0: those of this process */
  uint32_t held;         /* batches that the caller may have at the same time; 0: 3 */
  uint32_t labels;       /* PLIMSOLL_LABELS_OF_ALL, … */
  uint32_t shuffle;      /* 1: another order in every epoch; 0: the order of the nodes */
  uint32_t drop_last;    /* 1: no batch with fewer than batch_size seeds */
  uint32_t labor;        /* 1: sample by LABOR, as train --sampler labor */
  uint32_t every_hop;    /* 1: every hop samples for all nodes met so far, as train does;
                            0: each node is sampled for once, as PyTorch Geometric does */
  uint32_t positions;    /* 1: n_id has positions in the store instead of original ids; saves 4
                            bytes of memory per node */
  uint32_t reserved;
  uint32_t pinning; /* PLIMSOLL_PINNED, …; what NVIDIA's driver refuses to pin is not pinned: see
                       plimsoll_loader_pinning_problem() */
  uint32_t gpu;     /* that copies, as CUDA counts; used only with `pinning` */
} plimsoll_loader_options;

/* What a loader with these options will hold in memory, as JSON (docs/reference/memory.md lists the
 * keys). Loads nothing. A plan that does not fit is a result here: its "fits" is false. `*json` is
 * freed by plimsoll_text_free(). */
PLIMSOLL_EXPORT plimsoll_status plimsoll_plan(plimsoll_store* store,
                                              const plimsoll_loader_options* options, char** json);
PLIMSOLL_EXPORT void plimsoll_text_free(char* text);

/* Loads the part of the store that the plan keeps in memory. Loaders of one store share it, and its
 * memory limit: only the first may set memory_bytes. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_open(plimsoll_store* store,
                                                     const plimsoll_loader_options* options,
                                                     plimsoll_loader** out);
/* Batches that were not given back stay valid. */
PLIMSOLL_EXPORT void plimsoll_loader_close(plimsoll_loader* loader);

/* How many batches a pass has. */
PLIMSOLL_EXPORT uint64_t plimsoll_loader_batches(const plimsoll_loader* loader);

/* Begins a pass and ends the one before. Seed and epoch decide its batches, and nothing else does;
 * `plimsoll train` has the same batches in that epoch, which it counts from 0. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_start(plimsoll_loader* loader, uint64_t epoch);

typedef struct plimsoll_batch_handle plimsoll_batch_handle;

/* A batch. The arrays belong to the handle and may be written to. */
typedef struct plimsoll_batch {
  size_t size;
  plimsoll_batch_handle* handle;
  uint64_t index; /* in the pass */
  uint64_t seeds; /* the first nodes */
  uint64_t nodes;
  uint64_t edges;
  uint64_t columns;
  uint64_t label_count; /* nodes, seeds or 0 */
  uint64_t hops;
  float* x;                 /* nodes x columns */
  int64_t* y;               /* label_count values; -1: unlabelled */
  int64_t* edge_index;      /* 2 x edges: sources, then destinations; indices into the nodes */
  int64_t* n_id;            /* of the nodes: original ids, or positions */
  int64_t* input_id;        /* of the seeds: index in the split or in `nodes` */
  const int64_t* hop_nodes; /* hops + 1 values: seeds, then nodes first met in each hop */
  const int64_t* hop_edges; /* hops values */
} plimsoll_batch;

/* The next batch of the pass, in order. Waits at most `timeout_ms`; negative: as long as it takes.
 * Returns PLIMSOLL_END after the last, PLIMSOLL_WAIT if none is ready, PLIMSOLL_HELD without
 * waiting if the caller has `held` batches. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_next(plimsoll_loader* loader, int64_t timeout_ms,
                                                     plimsoll_batch* out);
PLIMSOLL_EXPORT void plimsoll_batch_give_back(plimsoll_batch_handle* handle);
/* For Python: the destructor of a capsule with the name "plimsoll_batch" that holds a handle. A
 * finaliser written in Python would lose a Ctrl-C that arrives while it runs. */
PLIMSOLL_EXPORT void plimsoll_batch_capsule_end(void* capsule);

/* The neighbourhood of some nodes (original ids, each once), with the loader's fan-out, now and on
 * this thread: a batch without x. `index` takes the part of the batch's place in a pass: the same
 * (epoch, index) draws the same neighbours. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_sample(plimsoll_loader* loader,
                                                       const int64_t* nodes, uint64_t count,
                                                       uint64_t epoch, uint64_t index,
                                                       plimsoll_batch* out);

/* The features of these nodes (original ids), in their order: count x columns values. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_rows(plimsoll_loader* loader, const int64_t* nodes,
                                                     uint64_t count, float* out);
/* Their labels; -1: unlabelled. */
PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_labels(plimsoll_loader* loader,
                                                       const int64_t* nodes, uint64_t count,
                                                       int64_t* out);

typedef struct plimsoll_loader_state {
  size_t size;
  uint64_t limit_bytes;   /* of the whole process */
  uint64_t leased_bytes;  /* what the loaders of the store hold */
  uint64_t host_bytes;    /* what the rest of the process holds, measured */
  uint64_t over_bytes;    /* by how much both exceed the limit: loaders cannot give more back */
  uint64_t resident_rows; /* feature rows in memory */
  uint64_t rows;          /* that batches needed so far */
  uint64_t rows_on_disk;  /* of these, read from disk */
  uint64_t bytes_read;
  uint32_t workers;
  uint32_t held;         /* batches that the caller has now */
  uint64_t pinned_bytes; /* of what loaders hold */
} plimsoll_loader_state;

PLIMSOLL_EXPORT plimsoll_status plimsoll_loader_state_now(const plimsoll_loader* loader,
                                                          plimsoll_loader_state* out);

/* Why memory of batches is not pinned although `pinning` asks for it; empty if it is. Valid until
 * the next call on this thread. */
PLIMSOLL_EXPORT const char* plimsoll_loader_pinning_problem(const plimsoll_loader* loader);

/* ---- making a store from arrays ---- */

typedef enum plimsoll_type {
  PLIMSOLL_NONE = 0,
  PLIMSOLL_I32 = 1,
  PLIMSOLL_I64 = 2,
  PLIMSOLL_F16 = 3,
  PLIMSOLL_F32 = 4,
  PLIMSOLL_F64 = 5,
  PLIMSOLL_BOOL = 6 /* one byte each; as a split: a mask with a value for every node */
} plimsoll_type;

/* An array in the caller's memory. The arrays are read in place and not copied. */
typedef struct plimsoll_array {
  const void* data;
  uint64_t count;       /* rows */
  int64_t stride_bytes; /* from one row to the next */
  uint32_t type;        /* plimsoll_type */
  uint32_t reserved;
} plimsoll_array;

typedef struct plimsoll_import_options {
  size_t size;
  const char* out; /* the new folder */
  const char* name;
  uint64_t nodes;
  plimsoll_array sources; /* of the edges: i32 or i64 */
  plimsoll_array destinations;
  plimsoll_array features; /* a row per node: f16, f32 or f64 */
  uint64_t columns;
  plimsoll_array labels;    /* a value per node: i32, i64, f32 or f64; -1 or NaN: unlabelled */
  plimsoll_array splits[3]; /* train, valid, test: ids (i32, i64) or a mask (bool) */
  uint64_t memory_bytes;    /* limit of the whole process, the arrays included; 0: half of what
                               there is */
  uint32_t undirected;      /* 1: adds the reverse of every edge */
  uint32_t feature_bits;    /* 16 or 32; 0: 16 */
  uint32_t replace;         /* 1: replaces a store of that name */
  uint32_t threads;         /* 0: those of this process */
} plimsoll_import_options;

PLIMSOLL_EXPORT plimsoll_status plimsoll_import(const plimsoll_import_options* options);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers,modernize-use-using,readability-identifier-naming) */
#endif
