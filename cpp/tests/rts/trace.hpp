// Recorded matches of the original engine, as cpp/games/rts/tools/traces.py writes them, and the
// comparison of our engine with them.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace ludus::rts {

struct TraceResult {
  int game = 0;
  std::string name;        // seed and bots
  bool agrees = false;     // every recorded tick, and the end
  unsigned ticks = 0;      // compared
  unsigned first_bad = 0;  // first tick whose checksum differs
  std::string difference;  // what differs there, where the trace has the full state
  std::string end;         // what differs at the end of the match
};

// Replays every game of the stream from its first recorded state. Throws std::runtime_error on
// malformed text.
[[nodiscard]] std::vector<TraceResult> compare_traces(std::istream& in);

}  // namespace ludus::rts
