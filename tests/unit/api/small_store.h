// A small graph in arrays, and the store that the interface makes of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "api/array_graph.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/units.h"
#include "ingest/build.h"
#include "temp_folder.h"

namespace plimsoll::api {

struct SmallArrays {
  static constexpr uint64_t kNodes = 600;
  static constexpr uint64_t kEdges = 6000;
  static constexpr uint64_t kColumns = 5;

  SmallArrays() : features(kNodes * kColumns), labels(kNodes), train(kNodes) {
    const RandomStream random(3, 0);
    for (uint64_t i = 0; i < kEdges; ++i) {
      sources.push_back(static_cast<int64_t>(below(random.at(2 * i), kNodes)));
      destinations.push_back(static_cast<int64_t>(below(random.at(2 * i + 1), kNodes)));
    }
    for (uint64_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 1000);
    for (uint64_t i = 0; i < kNodes; ++i) {
      labels[i] = static_cast<int32_t>(i % 7);
      train[i] = i % 3 == 0 ? 1 : 0;
      if (i % 3 == 1) valid.push_back(static_cast<int64_t>(i));
    }
  }

  template <typename T>
  static plimsoll_array array(const std::vector<T>& values, plimsoll_type type,
                              uint64_t per_row = 1) {
    return {values.data(), values.size() / per_row, static_cast<int64_t>(sizeof(T) * per_row),
            static_cast<uint32_t>(type), 0};
  }

  plimsoll_import_options options() const {
    plimsoll_import_options options = {};
    options.size = sizeof options;
    options.nodes = kNodes;
    options.sources = array(sources, PLIMSOLL_I64);
    options.destinations = array(destinations, PLIMSOLL_I64);
    options.features = array(features, PLIMSOLL_F32, kColumns);
    options.columns = kColumns;
    options.labels = array(labels, PLIMSOLL_I32);
    options.splits[0] = array(train, PLIMSOLL_BOOL);
    options.splits[1] = array(valid, PLIMSOLL_I64);
    return options;
  }

  // Directed, with f32 features.
  void write_store(const std::filesystem::path& folder) const {
    const plimsoll_import_options from = options();
    ArrayGraph source(from);
    memory::Ledger ledger(256 * kMiB);
    Progress progress(ProgressStyle::silent);
    ingest::build(source,
                  {.out = folder,
                   .direction = graph::Direction::directed,
                   .features = graph::FeatureType::f32,
                   .source = {{"name", "small"}}},
                  ledger, progress);
  }

  std::vector<int64_t> sources;
  std::vector<int64_t> destinations;
  std::vector<float> features;
  std::vector<int32_t> labels;
  std::vector<uint8_t> train;
  std::vector<int64_t> valid;
};

}  // namespace plimsoll::api
