// SIMD: vectors of four lanes, one unit per lane. Lane arithmetic rounds exactly like the scalar
// operations, so which of the two computes a number changes no bit of it.
#pragma once

#include <cstdint>
#include <cstring>

namespace ludus::rts {

using F4 = float __attribute__((vector_size(16)));
using U4 = std::uint32_t __attribute__((vector_size(16)));
using I4 = std::int32_t __attribute__((vector_size(16)));

[[nodiscard]] inline F4 load4(const float* from) {
  F4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
[[nodiscard]] inline F4 broadcast4(float v) { return F4{v, v, v, v}; }

// cell_coord of map.hpp, of coordinates above -1.5: the nearest cell, the higher of two,
// and 0 up to it.
[[nodiscard]] inline I4 cells4(F4 v) {
  const I4 whole = __builtin_convertvector(v, I4);  // towards zero, as the fraction below
  return whole - (v - __builtin_convertvector(whole, F4) >= 0.5F);
}

// Bit k: lane k of a comparison's result is true.
[[nodiscard]] inline unsigned lane_bits(I4 truth) {
#if defined(__SSE2__)
  F4 sign;
  std::memcpy(&sign, &truth, sizeof sign);
  return static_cast<unsigned>(__builtin_ia32_movmskps(sign));
#else
  unsigned bits = 0;
  for (int k = 0; k < 4; ++k) bits |= truth[k] != 0 ? 1U << k : 0U;
  return bits;
#endif
}

}  // namespace ludus::rts
