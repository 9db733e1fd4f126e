// The loops (loops.inc) with AVX-512: sixteen values at a time.
#include "kernel/cpu_features.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

namespace plimsoll::kernel {
namespace {

struct Vector {
  static constexpr uint32_t kWidth = 16;
  using Type = __m512;
  static Type zero() { return _mm512_setzero_ps(); }
  static Type fill(float value) { return _mm512_set1_ps(value); }
  static Type load(const float* from) { return _mm512_loadu_ps(from); }
  static Type load_half(const uint16_t* from) {
    // With a mask of all ones: GCC 12 warns about its own plain form (GCC bug 105593).
    constexpr __mmask16 kAll = 0xffff;
    return _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store(float* to, Type from) { _mm512_storeu_ps(to, from); }
  static Type add(Type a, Type b) { return _mm512_add_ps(a, b); }
  static Type multiply(Type a, Type b) { return _mm512_mul_ps(a, b); }
};

}  // namespace
}  // namespace plimsoll::kernel

#include "kernel/loops.inc"

namespace plimsoll::kernel {

constinit const Build kAvx512Build = {kCompiledWith, {"AVX-512", gather, aggregate, relu_dropout}};

}  // namespace plimsoll::kernel

#else

namespace plimsoll::kernel {

constinit const Build kAvx512Build = {};

}  // namespace plimsoll::kernel

#endif
