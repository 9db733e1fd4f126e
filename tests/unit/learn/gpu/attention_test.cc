// Attention of the GPU's code, run on the CPU, against a plain computation in double, and its
// gradients against differences of that computation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/units.h"
#include "gpu/device_attention.h"
#include "gpu/host_accelerator.h"

namespace plimsoll::gpu {
namespace {

constexpr uint32_t kPositions = 11;
constexpr uint32_t kDrawn = 4;
constexpr uint32_t kSources = kPositions * (1 + kDrawn);

// Draws of every number from none to the fan-out; the last position is empty.
std::vector<uint32_t> sources_of_a_tree() {
  std::vector<uint32_t> nodes(kSources, kNoNode);
  for (uint32_t i = 0; i + 1 < kPositions; ++i) {
    nodes[i] = i;
    for (uint32_t q = 0; q < i % (kDrawn + 1); ++q) {
      nodes[kPositions + i * kDrawn + q] = (i + q) % 5;
    }
  }
  return nodes;
}

std::vector<float> random_values(uint64_t count, uint64_t stream) {
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(2 * unit_interval(RandomStream(3, stream).at(i)) - 1);
  }
  return values;
}

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

struct Inputs {
  std::vector<double> z;
  std::vector<double> att_src;
  std::vector<double> att_dst;
};

struct Plain {
  std::vector<double> weights;  // [sources, heads]
  std::vector<double> out;      // [positions, width]
};

Plain plain_attention(const std::vector<uint32_t>& nodes, const Inputs& in, uint32_t heads) {
  const auto width = static_cast<uint32_t>(in.att_src.size());
  const uint32_t channels = width / heads;
  Plain result{std::vector<double>(kSources * heads), std::vector<double>(kPositions * width)};
  const auto score = [&](uint32_t source, const std::vector<double>& att, uint32_t head) {
    double sum = 0;
    for (uint32_t c = head * channels; c < (head + 1) * channels; ++c) {
      sum += in.z[source * width + c] * att[c];
    }
    return sum;
  };
  for (uint32_t i = 0; i < kPositions; ++i) {
    std::vector<uint32_t> sources = {i};
    for (uint32_t q = 0; q < kDrawn; ++q) {
      const uint32_t source = kPositions + i * kDrawn + q;
      if (nodes[source] != kNoNode) sources.push_back(source);
    }
    for (uint32_t head = 0; head < heads; ++head) {
      double all = 0;
      for (const uint32_t source : sources) {
        const double sum = score(source, in.att_src, head) + score(i, in.att_dst, head);
        all += result.weights[source * heads + head] = std::exp(sum > 0 ? sum : 0.2 * sum);
      }
      for (const uint32_t source : sources) {
        const double weight = result.weights[source * heads + head] /= all;
        for (uint32_t c = head * channels; c < (head + 1) * channels; ++c) {
          result.out[i * width + c] += weight * in.z[source * width + c];
        }
      }
    }
  }
  return result;
}

struct Computed {
  std::vector<float> weights;
  std::vector<float> out;
  std::vector<float> z_gradient;
  std::vector<float> att_src_gradient;
  std::vector<float> att_dst_gradient;
};

// Forward and backward; `by_class`: results and their gradient are kept by column. What nothing
// writes stays NaN.
Computed computed(const std::vector<uint32_t>& nodes, std::vector<float> z,
                  const std::vector<float>& att_src, const std::vector<float>& att_dst,
                  const std::vector<float>& gradient, uint32_t heads, bool by_class) {
  HostAccelerator device(kGiB);
  const auto width = static_cast<uint32_t>(att_src.size());
  const LayerEdges edges = {.nodes = nodes.data(),
                            .positions = kPositions,
                            .fanout = kDrawn,
                            .heads = heads,
                            .channels = width / heads};
  const uint32_t lanes = (width + kLane - 1) / kLane;
  Computed result{.weights = std::vector<float>(kSources * heads, NAN),
                  .out = std::vector<float>(kPositions * width, NAN),
                  .att_src_gradient = std::vector<float>(width),
                  .att_dst_gradient = std::vector<float>(width)};
  std::vector<float> scores(kSources * heads, NAN);
  std::vector<float> own_scores(kPositions * heads, NAN);
  std::vector<float> gradients(kSources * heads, NAN);
  std::vector<float> own_gradients(kPositions * heads, NAN);
  const auto at = [&](uint32_t row, uint32_t column) {
    return by_class ? column * kPositions + row : row * width + column;
  };
  const auto view = [&](std::vector<float>& values) {
    return LayerResults{.values = values.data(),
                        .row_step = by_class ? 1 : width,
                        .column_step = by_class ? kPositions : 1};
  };
  std::vector<float> results(kPositions * width, NAN);
  device.run(ScoreSources{.edges = edges,
                          .z = z.data(),
                          .att_src = att_src.data(),
                          .att_dst = att_dst.data(),
                          .scores = scores.data(),
                          .own_scores = own_scores.data(),
                          .threads = kSources * heads});
  device.run(WeighSources{.edges = edges,
                          .scores = scores.data(),
                          .own_scores = own_scores.data(),
                          .weights = result.weights.data(),
                          .threads = kPositions * heads});
  device.run(SumSources{.edges = edges,
                        .z = z.data(),
                        .weights = result.weights.data(),
                        .out = view(results),
                        .lanes = lanes,
                        .threads = kPositions * lanes});
  for (uint32_t i = 0; i < kPositions; ++i) {
    for (uint32_t c = 0; c < width; ++c) {
      result.out[i * width + c] = results[at(i, c)];
      results[at(i, c)] = gradient[i * width + c];
    }
  }
  device.run(GradeWeights{.edges = edges,
                          .z = z.data(),
                          .gradient = view(results),
                          .gradients = gradients.data(),
                          .threads = kSources * heads});
  device.run(GradeScores{.edges = edges,
                         .scores = scores.data(),
                         .own_scores = own_scores.data(),
                         .weights = result.weights.data(),
                         .gradients = gradients.data(),
                         .own_gradients = own_gradients.data(),
                         .threads = kPositions * heads});
  for (uint32_t c = 0; c < width; ++c) {
    const uint32_t head = c / edges.channels;
    for (uint32_t j = 0; j < kSources; ++j) {
      result.att_src_gradient[c] += gradients[j * heads + head] * z[j * width + c];
    }
    for (uint32_t i = 0; i < kPositions; ++i) {
      result.att_dst_gradient[c] += own_gradients[i * heads + head] * z[i * width + c];
    }
  }
  device.run(GradeSources{.edges = edges,
                          .z = z.data(),
                          .gradient = view(results),
                          .weights = result.weights.data(),
                          .gradients = gradients.data(),
                          .own_gradients = own_gradients.data(),
                          .att_src = att_src.data(),
                          .att_dst = att_dst.data(),
                          .lanes = lanes,
                          .threads = kSources * lanes});
  result.z_gradient = z;
  return result;
}

// By differences of <out, gradient>.
std::vector<double> differences(const std::vector<uint32_t>& nodes, Inputs in,
                                std::vector<double> Inputs::*of, const std::vector<float>& gradient,
                                uint32_t heads) {
  constexpr double kStep = 1e-6;
  const auto product = [&] {
    const std::vector<double> out = plain_attention(nodes, in, heads).out;
    double sum = 0;
    for (uint64_t i = 0; i < out.size(); ++i) sum += out[i] * gradient[i];
    return sum;
  };
  std::vector<double> result;
  for (double& value : in.*of) {
    const double before = value;
    value = before + kStep;
    const double more = product();
    value = before - kStep;
    result.push_back((more - product()) / (2 * kStep));
    value = before;
  }
  return result;
}

void expect_near(const std::vector<float>& actual, const std::vector<double>& expected,
                 const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (uint64_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 2e-6) << what << " " << i;
  }
}

TEST(GpuAttention, IsThatOfAPlainComputationWithItsGradients) {
  const std::vector<uint32_t> nodes = sources_of_a_tree();
  for (const uint32_t heads : {1U, 2U, 3U}) {
    for (const uint32_t channels : {1U, 3U, 4U, 8U}) {
      const uint32_t width = heads * channels;
      const std::vector<float> z = random_values(kSources * width, 1);
      const std::vector<float> att_src = random_values(width, 2);
      const std::vector<float> att_dst = random_values(width, 3);
      std::vector<float> gradient = random_values(kPositions * width, 4);
      std::fill(gradient.end() - width, gradient.end(), 0.0F);  // of the empty position
      const Inputs in = {doubles(z), doubles(att_src), doubles(att_dst)};
      const Plain plain = plain_attention(nodes, in, heads);
      for (const bool by_class : {false, true}) {
        SCOPED_TRACE(testing::Message() << heads << " heads of " << channels << " channels, "
                                        << (by_class ? "by class" : "by position"));
        const Computed result = computed(nodes, z, att_src, att_dst, gradient, heads, by_class);
        expect_near(result.weights, plain.weights, "weights");
        expect_near(result.out, plain.out, "results");
        const auto graded = [&](std::vector<double> Inputs::*of) {
          return differences(nodes, in, of, gradient, heads);
        };
        expect_near(result.z_gradient, graded(&Inputs::z), "gradient of z");
        expect_near(result.att_src_gradient, graded(&Inputs::att_src), "gradient of att_src");
        expect_near(result.att_dst_gradient, graded(&Inputs::att_dst), "gradient of att_dst");
      }
    }
  }
}

// Scores whose exponentials no float holds.
TEST(GpuAttention, HasWeightsForScoresOfAnySize) {
  const std::vector<uint32_t> nodes = sources_of_a_tree();
  std::vector<float> z(kSources);
  for (uint32_t i = 0; i < kSources; ++i) z[i] = static_cast<float>(i) * 1000;
  const Computed result =
      computed(nodes, z, {1}, {-1}, std::vector<float>(kPositions, 1), 1, /*by_class=*/false);
  for (uint32_t i = 0; i < kPositions; ++i) {
    double sum = result.weights[i];
    for (uint32_t q = 0; q < kDrawn; ++q) sum += result.weights[kPositions + i * kDrawn + q];
    EXPECT_NEAR(sum, 1, 1e-6) << i;
  }
}

}  // namespace
}  // namespace plimsoll::gpu
