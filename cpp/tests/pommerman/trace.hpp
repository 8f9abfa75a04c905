// Recorded transitions of the original, as cpp/games/pommerman/tools/traces.py writes them, and the
// comparison of our step with them.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "games/pommerman/world.hpp"

namespace ludus::pommerman {

struct TraceResult {
  int records = 0;
  int steps = 0;
  int wrong = 0;                         // steps that came out otherwise
  std::vector<std::string> differences;  // of the first few
};

// Plays every recorded step from its recorded state. Throws std::runtime_error on malformed text.
[[nodiscard]] TraceResult compare_traces(std::istream& in);

// Differences between two states as far as the original has it; empty when nothing does.
[[nodiscard]] std::string difference(const State& expected, const State& actual, int size);

}  // namespace ludus::pommerman
