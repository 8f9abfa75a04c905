// rts_distribution BOT0 BOT1 FRAME_SKIP MATCHES [SEED]: win shares and lengths of bots against
// bots, to be held against the figures of the original engine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "games/rts/minirts/minirts.hpp"

int main(int argc, char** argv) {
  using M = ludus::MiniRts;
  const M::Rules rules = M::make_rules({});
  const ludus::GameSpec spec = M::spec(rules);
  const auto bot = [&](const std::string& name) {
    for (std::size_t i = 0; i < spec.bots.size(); ++i) {
      if (spec.bots[i].name == name) return static_cast<int>(i);
    }
    std::fprintf(stderr, "unknown bot %s\n", name.c_str());
    std::exit(2);
  };
  if (argc < 5) {
    std::fprintf(stderr, "usage: rts_distribution BOT0 BOT1 FRAME_SKIP MATCHES [SEED]\n");
    return 2;
  }
  const int bots[2] = {bot(argv[1]), bot(argv[2])};
  const auto skip = static_cast<unsigned>(std::max(1, std::atoi(argv[3])));
  const int matches = std::max(1, std::atoi(argv[4]));
  const std::uint64_t seed = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1;
  M::State s{};
  int wins[2] = {0, 0};
  int congested = 0;
  std::vector<double> lengths;
  for (int m = 0; m < matches; ++m) {
    M::reset(rules, s, {.seed = seed, .match = static_cast<std::uint64_t>(m)});
    while (!s.world.over) {
      if (s.world.tick % skip == 0) {
        M::bot(rules, s, 0, bots[0]);
        M::bot(rules, s, 1, bots[1]);
      }
      M::advance(rules, s);
    }
    if (s.world.winner >= 0) ++wins[s.world.winner];
    congested += s.world.congested ? 1 : 0;
    lengths.push_back(s.world.tick);
  }
  std::sort(lengths.begin(), lengths.end());
  double mean = 0;
  for (const double l : lengths) mean += l / matches;
  double variance = 0;
  for (const double l : lengths) variance += (l - mean) * (l - mean) / matches;
  const auto share = [&](int n) { return 100.0 * n / matches; };
  const double se =
      100.0 * std::sqrt(static_cast<double>(wins[0]) * (matches - wins[0]) / matches) / matches;
  std::printf(
      "%s vs %s fs %u: %d matches, seat 0 wins %.2f %% +- %.2f, seat 1 %.2f %%, none %d (%d by the "
      "guard), mean %.0f +- %.0f, median %.0f, sd %.0f\n",
      argv[1], argv[2], skip, matches, share(wins[0]), se, share(wins[1]),
      matches - wins[0] - wins[1], congested, mean, std::sqrt(variance / matches),
      lengths[lengths.size() / 2], std::sqrt(variance));
  return 0;
}
