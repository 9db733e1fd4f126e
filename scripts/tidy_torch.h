// For clang-tidy alone, before everything else: clang 14 with C++20 takes std::vector's constexpr
// members as a reason to look into types that libtorch 1.13 has only declared yet. Without the
// keyword it does not.
#include <string>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_a1_of_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
