// The loops (loops.inc) with AVX2 and F16C: eight values at a time.
#include "kernel/cpu_features.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

namespace plimsoll::kernel {
namespace {

struct Vector {
  static constexpr uint32_t kWidth = 8;
  using Type = __m256;
  static Type zero() { return _mm256_setzero_ps(); }
  static Type fill(float value) { return _mm256_set1_ps(value); }
  static Type load(const float* from) { return _mm256_loadu_ps(from); }
  static Type load_half(const uint16_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store(float* to, Type from) { _mm256_storeu_ps(to, from); }
  static Type add(Type a, Type b) { return _mm256_add_ps(a, b); }
  static Type multiply(Type a, Type b) { return _mm256_mul_ps(a, b); }
};

}  // namespace
}  // namespace plimsoll::kernel

#include "kernel/loops.inc"

namespace plimsoll::kernel {

constinit const Build kAvx2Build = {kCompiledWith, {"AVX2", gather, aggregate, relu_dropout}};

}  // namespace plimsoll::kernel

#else

namespace plimsoll::kernel {

constinit const Build kAvx2Build = {};

}  // namespace plimsoll::kernel

#endif
