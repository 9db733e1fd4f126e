// The loops (loops.inc) for any CPU.
#include "kernel/cpu_features.h"

namespace plimsoll::kernel {
namespace {

float half_to_float(uint16_t bits);

// Four values at a time; compilers map this to instructions that every CPU has.
struct Vector {
  static constexpr uint32_t kWidth = 4;
  struct Type {
    float values[kWidth];
  };
  static Type zero() { return {}; }
  static Type fill(float value) { return {{value, value, value, value}}; }
  static Type load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static Type load_half(const uint16_t* from) {
    return {{half_to_float(from[0]), half_to_float(from[1]), half_to_float(from[2]),
             half_to_float(from[3])}};
  }
  static void store(float* to, const Type& from) {
    for (uint32_t i = 0; i < kWidth; ++i) to[i] = from.values[i];
  }
  static Type add(Type a, const Type& b) {
    for (uint32_t i = 0; i < kWidth; ++i) a.values[i] += b.values[i];
    return a;
  }
  static Type multiply(Type a, const Type& b) {
    for (uint32_t i = 0; i < kWidth; ++i) a.values[i] *= b.values[i];
    return a;
  }
};

}  // namespace
}  // namespace plimsoll::kernel

#include "kernel/loops.inc"

namespace plimsoll::kernel {

constinit const Build kPlainBuild = {kCompiledWith, {"plain", gather, aggregate, relu_dropout}};

}  // namespace plimsoll::kernel
