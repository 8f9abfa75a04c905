// rts_distribution GAME BOTS FRAME_SKIPS MATCHES [SEED]: win shares and lengths of bots against
// bots, to be held against the figures of the original engine. BOTS and FRAME_SKIPS are lists such
// as simple,random and 50,10; one name or number stands for all seats.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "game/game_list.hpp"
#include "game/match.hpp"
#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/tower_defense/tower_defense.hpp"

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

struct Tally {
  std::vector<int> wins;
  int congested = 0;
  int full = 0;  // matches in which some owner's slots were all taken
  std::vector<double> lengths;
};

template <class G>
Tally play(ludus::MatchContext<G>& c, const std::vector<ludus::SeatDriver>& drivers, int matches,
           std::uint64_t seed) {
  Tally tally;
  tally.wins.resize(drivers.size());
  typename G::State s{};
  for (int m = 0; m < matches; ++m) {
    const ludus::MatchSeed match{.seed = seed, .match = static_cast<std::uint64_t>(m)};
    G::reset(c.rules, s, match);
    ludus::Rng rng(match, ludus::kUniformStream);
    bool full = false;
    while (!G::status(c.rules, s).over) {
      ludus::decide<G>(c, s, drivers, rng);
      G::advance(c.rules, s);
      for (int o = 0; o < 2; ++o) full |= s.world.units[o] == c.rules.engine.capacity(o);
    }
    std::vector<float> outcome(drivers.size());
    G::outcome(c.rules, s, outcome);
    for (std::size_t i = 0; i < outcome.size(); ++i) tally.wins[i] += outcome[i] > 0 ? 1 : 0;
    tally.congested += s.world.congested ? 1 : 0;
    tally.full += full ? 1 : 0;
    tally.lengths.push_back(s.world.tick);
  }
  return tally;
}

void print(const char* title, Tally tally, int matches) {
  std::sort(tally.lengths.begin(), tally.lengths.end());
  double mean = 0;
  for (const double l : tally.lengths) mean += l / matches;
  double variance = 0;
  for (const double l : tally.lengths) variance += (l - mean) * (l - mean) / matches;
  std::printf("%s: %d matches", title, matches);
  for (std::size_t seat = 0; seat < tally.wins.size(); ++seat) {
    const double share = static_cast<double>(tally.wins[seat]) / matches;
    std::printf(", seat %zu wins %.2f %% +- %.2f", seat, 100 * share,
                100 * std::sqrt(share * (1 - share) / matches));
  }
  std::printf(
      ", %d ended by the guard, %d with full slots, mean %.0f +- %.0f, median %.0f, sd %.0f\n",
      tally.congested, tally.full, mean, std::sqrt(variance / matches),
      tally.lengths[tally.lengths.size() / 2], std::sqrt(variance));
}

}  // namespace

int main(int argc, char** argv) {
  using Games = ludus::GameList<ludus::CaptureTheFlag, ludus::MiniRts, ludus::TowerDefense>;
  if (argc < 5) {
    std::fprintf(stderr, "usage: rts_distribution GAME BOTS FRAME_SKIPS MATCHES [SEED]\n");
    return 2;
  }
  try {
    bool known = false;
    Games::for_each([&]<class G>() {
      if (std::string(G::kName) != argv[1]) return;
      known = true;
      ludus::MatchContext<G> c(ludus::Params{});
      std::vector<int> skips;
      for (const std::string& text : split(argv[3])) skips.push_back(std::atoi(text.c_str()));
      const int matches = std::max(1, std::atoi(argv[4]));
      const std::uint64_t seed = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1;
      const auto drivers = ludus::seat_drivers(c.spec, split(argv[2]), skips);
      const std::string title = std::string(argv[1]) + " " + argv[2] + " fs " + argv[3];
      print(title.c_str(), play<G>(c, drivers, matches, seed), matches);
    });
    if (!known) {
      std::fprintf(stderr, "unknown game %s\n", argv[1]);
      return 2;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  return 0;
}
