// What a CPU must have to run a kernels_*.cc. Each of them says by kCompiledWith what its compiler
// was allowed to use, so a flag that is added to it in CMakeLists.txt is checked, too.
#pragma once

#include "kernel/kernels.h"

namespace plimsoll::kernel {

// Sets of features of x86. XSAVE is not among them: a system that offers AVX has it.
enum CpuFeature : uint32_t {
  kSse3 = 1U << 0,
  kSsse3 = 1U << 1,
  kSse41 = 1U << 2,
  kSse42 = 1U << 3,
  kPopcnt = 1U << 4,
  kAvx = 1U << 5,
  kAvx2 = 1U << 6,
  kFma = 1U << 7,
  kF16c = 1U << 8,
  kAvx512f = 1U << 9,
  kAvx512bw = 1U << 10,
  kAvx512vl = 1U << 11,
};
constexpr uint32_t kEveryFeature = (1U << 12) - 1;

// Those of the file that includes this.
constexpr uint32_t kCompiledWith = 0U
#ifdef __SSE3__
                                   | kSse3
#endif
#ifdef __SSSE3__
                                   | kSsse3
#endif
#ifdef __SSE4_1__
                                   | kSse41
#endif
#ifdef __SSE4_2__
                                   | kSse42
#endif
#ifdef __POPCNT__
                                   | kPopcnt
#endif
#ifdef __AVX__
                                   | kAvx
#endif
#ifdef __AVX2__
                                   | kAvx2
#endif
#ifdef __FMA__
                                   | kFma
#endif
#ifdef __F16C__
                                   | kF16c
#endif
#ifdef __AVX512F__
                                   | kAvx512f
#endif
#ifdef __AVX512BW__
                                   | kAvx512bw
#endif
#ifdef __AVX512VL__
                                   | kAvx512vl
#endif
    ;

// The kernels of one file. A constant rather than a function: none of the file's code runs before
// the CPU has been looked at.
struct Build {
  uint32_t needs = 0;
  Kernels kernels = {};  // without a name where the compiler has none for this machine
};
extern const Build kPlainBuild;
extern const Build kAvx2Build;
extern const Build kAvx512Build;

// Those of this CPU, as far as the system lets programs use them.
uint32_t cpu_features();

// Null where a CPU with these features cannot run them.
const Kernels* runnable(const Build& build, uint32_t features);
// The fastest that a CPU with these features can run.
const Kernels& best_of(uint32_t features);

}  // namespace plimsoll::kernel
