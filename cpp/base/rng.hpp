// Counter-based random numbers: a value is a pure function of (key, counter), so streams split
// without state, a State that holds one stays trivially copyable, and results never depend on
// threads, workers or groups. The mixer is SplitMix64's finaliser applied to a Weyl sequence.
#pragma once

#include <cstdint>

namespace ludus {

// Which match this is: the run's seed and the match's number in its pool.
struct MatchSeed {
  std::uint64_t seed = 0;
  std::uint64_t match = 0;
};

[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

class Rng {
 public:
  Rng() = default;
  // `stream` separates uses within one match (start position, bots, ...).
  constexpr Rng(MatchSeed seed, std::uint64_t stream)
      : key_(mix64(mix64(mix64(seed.seed + kGamma) ^ (seed.match + kGamma)) + stream * kGamma)) {}

  [[nodiscard]] constexpr std::uint64_t next() { return mix64(key_ + kGamma * ++counter_); }

  // Uniform in [0, n), n > 0, without modulo bias worth measuring (error < 2^-32 for n < 2^32).
  [[nodiscard]] constexpr std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }
  [[nodiscard]] constexpr bool coin() { return (next() >> 63) != 0; }
  // Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15ULL;
  std::uint64_t key_ = 0;
  std::uint64_t counter_ = 0;
};

}  // namespace ludus
