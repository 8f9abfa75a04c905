// The 64-bit state hash: an order-sensitive fold that gives the same number on every compiler,
// optimisation level and machine. Not cryptographic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/rng.hpp"

namespace ludus {

class Hash64 {
 public:
  constexpr void add(std::uint64_t v) { h_ = mix64(h_ ^ (v + 0x9e3779b97f4a7c15ULL)) + kStep; }
  // -0 and +0 are one value to the rules, so they are one value here.
  constexpr void add_float(float v) { add(std::bit_cast<std::uint32_t>(v == 0.0F ? 0.0F : v)); }
  void add_bytes(const void* data, std::size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    add(size);
    while (size > 0) {
      std::uint64_t w = 0;
      const std::size_t n = size < 8 ? size : 8;
      for (std::size_t i = 0; i < n; ++i) w |= static_cast<std::uint64_t>(p[i]) << (8 * i);
      add(w);
      p += n;
      size -= n;
    }
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return mix64(h_); }

 private:
  static constexpr std::uint64_t kStep = 0x2545f4914f6cdd1dULL;
  std::uint64_t h_ = 0x6c756475735f6831ULL;
};

}  // namespace ludus
