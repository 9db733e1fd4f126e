// The CPU features that each kernels_*.cc needs. kCompiledWith is taken from the compiler's flags,
// so a flag that is added in CMakeLists.txt is checked at run time, too.
#pragma once

#include "kernel/kernels.h"

namespace plimsoll::kernel {

// Features of x86. XSAVE is not listed: a system that offers AVX has it.
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

// The features that the including file was compiled for.
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

// The kernels of one file. A constant and not a function, so that no code of the file runs before
// the CPU has been checked.
struct Build {
  uint32_t needs = 0;    // of CpuFeature
  Kernels kernels = {};  // name is null if the compiler cannot build them for this architecture
};
extern const Build kPlainBuild;
extern const Build kAvx2Build;
extern const Build kAvx512Build;

// The features of this CPU that the system lets programs use.
uint32_t cpu_features();

// Null if a CPU with these features cannot run them.
const Kernels* runnable(const Build& build, uint32_t features);
// The fastest that a CPU with these features can run.
const Kernels& best_of(uint32_t features);

}  // namespace plimsoll::kernel
