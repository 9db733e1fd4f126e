// What a batch is expected to hold: how many nodes and edges, and how far down the hot-first order
// it reaches. Counted in what was drawn, for any batch size; pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/draw.h"
#include "plan/shape.h"
#include "sample/batch_size.h"

namespace plimsoll::plan {

using sample::BatchSize;
using sample::HopSize;

struct Probe {
  BatchSize batch;    // on average: what a batch costs in time
  BatchSize largest;  // of those seen: what a batch costs in memory
  // Of an average batch, from mark i of the store to mark i + 1: all nodes, those whose neighbours
  // are drawn, and the reads that drawing takes where none of the lists is resident.
  std::vector<double> visited;
  std::vector<double> expanded;
  std::vector<double> list_reads;
};

// Batches of up to as many seeds as were drawn are cut from the draws. Beyond that sizes grow as
// they did from half of the seeds to all; and each part of the order by itself, for the hot nodes
// are all met soon while cold ones are nearly always new.
Probe expect_batch(const Draws& draws, const StoreShape& store, uint64_t batch_size);

}  // namespace plimsoll::plan
