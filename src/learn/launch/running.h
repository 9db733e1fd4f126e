// What a training and a prediction have in common: how they run, and the messages before the work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/store.h"
#include "launch/training_device.h"
#include "ranks/group.h"
#include "train/job.h"

namespace plimsoll::launch {

struct RunningOptions {
  train::Execution run;
  std::optional<unsigned> gpu;  // --device cuda:N, for choose_gpu()
  bool threads_given = false;   // --threads: then it is for each rank
  unsigned ranks = 0;           // 0: as the variables of torchrun or Slurm say, else one process
  std::optional<double> rank_timeout_minutes;  // instead of the usual limits of ranks/beat.h
  std::optional<uint64_t> memory_bytes;
  bool verify = false;
};

// What a plan is made for, in addition to what the user asks for.
struct PlanFor {
  const graph::Store& store;
  uint64_t limit_bytes = 0;
  GpuFacts gpus;
  const ranks::Group* group = nullptr;  // null: this process works alone
};

// Ranks of one host divide its CPUs, unless the user gave --threads.
void divide_threads(RunningOptions& options, unsigned host_ranks);

// Prints a line before the work starts: "  model     gcn, 2 layers, hidden 256"; nothing if quiet.
void say(const RunningOptions& options, const std::string& topic, const std::string& text);

// Prints the plan; nothing if quiet.
void say_plan(const RunningOptions& options, const plan::Plan& plan);

// For --verify: throws Error{store} if a file of the store differs from its checksum in meta.json.
void verify_if_asked(const graph::Store& store, const RunningOptions& options);

// "cora.plim: 2,708 nodes, 10,556 edges, 1,433 features, 7 classes"
std::string describe(const graph::Store& store);

}  // namespace plimsoll::launch
