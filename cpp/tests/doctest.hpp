// The test framework, in one place. Tests include this, never doctest itself.
#pragma once

#include <doctest/doctest.h>

namespace ludus {

// Builds without optimisation (the sanitizers) draw less at random: the same code, fewer rounds.
#ifdef __OPTIMIZE__
inline constexpr bool kThorough = true;
#else
inline constexpr bool kThorough = false;
#endif
constexpr int rounds(int n) { return kThorough ? n : (n + 7) / 8; }

}  // namespace ludus
