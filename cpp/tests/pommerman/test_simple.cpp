// SimpleAgent against the same agent written a second time, with the same random numbers.
#include <algorithm>
#include <array>

#include "games/pommerman/pommerman.hpp"
#include "games/pommerman/simple.hpp"
#include "tests/doctest.hpp"
#include "tests/pommerman/reference_agent.hpp"

namespace ludus::pommerman {
namespace {

enum Bot { kSimpleBot, kRandomBot };

TEST_CASE("pommerman: SimpleAgent decides as its specification does") {
  struct Config {
    const char* mode;
    const char* fog;
  };
  for (const Config config : {Config{"ffa", "0"},
                              {"ffa", "1"},
                              {"team", "0"},
                              {"team", "1"},
                              {"one_vs_one", "0"},
                              {"one_vs_one", "1"}}) {
    Params p;
    p.set("mode", config.mode);
    p.set("fog", config.fog);
    const Rules rules = Pommerman::make_rules(p);
    int decisions = 0;
    int wrong = 0;
    for (std::uint64_t match = 0; match < 3; ++match) {
      State s;
      Pommerman::reset(rules, s, {8, match});
      std::array<ReferenceAgent, kAgents> reference;
      Rng noise({8, match}, 99);
      while (!Pommerman::status(rules, s).over) {
        for (int a = 0; a < rules.seats; ++a) {
          if ((Pommerman::to_act(rules, s) >> a & 1U) == 0) continue;
          const auto i = static_cast<std::size_t>(a);
          Rng rng = s.rng;
          const int expected = reference[i].act(ReferenceAgent::see(rules, s, a), rng);
          Pommerman::bot(rules, s, a, kSimpleBot);
          Rng after = s.rng;
          wrong += s.chosen[i] != expected || after.next() != rng.next() ? 1 : 0;
          ++decisions;
          // A little noise brings it where it would not go by itself.
          if (noise.below(32) == 0) s.chosen[i] = static_cast<std::uint8_t>(noise.below(kActions));
        }
        Pommerman::advance(rules, s);
      }
    }
    INFO(config.mode, " fog ", config.fog);
    CHECK(decisions > 300);
    CHECK(wrong == 0);
  }
}

// Boards that play hardly ever reaches: full of bombs, flames and agents.
TEST_CASE("pommerman: SimpleAgent decides as its specification does on random boards") {
  int wrong = 0;
  int kinds[kActions] = {};
  for (int board = 0; board < 1500; ++board) {
    Params p;
    p.set("mode", board % 3 == 0 ? "team" : "ffa");
    p.set("fog", board % 2 == 0 ? "0" : "1");
    const Rules rules = Pommerman::make_rules(p);
    State s;
    Rng rng({3, static_cast<std::uint64_t>(board)}, 5);
    s.board = rules.empty;
    s.rng = Rng({4, static_cast<std::uint64_t>(board)}, 5);
    constexpr std::array<std::uint8_t, 12> kMix = {0, 0, 0, 0, 0, 0, 1, 2, 4, 6, 7, 8};
    for (int i = 0; i < 121; ++i) s.board[cell_at(i / 11, i % 11)] = kMix[rng.below(12)];
    for (std::uint32_t b = rng.below(7); b > 0; --b) {
      const Cell cell = cell_at(static_cast<int>(rng.below(11)), static_cast<int>(rng.below(11)));
      s.bomb[s.bombs++] = {cell, 0, 5, static_cast<std::uint8_t>(2 + rng.below(4)), kStop};
      s.board[cell] = kBomb;
    }
    for (std::size_t a = 0; a < kAgents; ++a) {
      Cell cell = 0;
      do {
        cell = cell_at(static_cast<int>(rng.below(11)), static_cast<int>(rng.below(11)));
      } while (s.board[cell] >= kAgent0);
      s.agent[a] = {.cell = cell, .alive = 1, .ammo = static_cast<std::uint8_t>(rng.below(3))};
      s.board[cell] = static_cast<std::uint8_t>(kAgent0 + a);
    }
    for (int a = 0; a < kAgents; ++a) {
      ReferenceAgent reference;
      Rng same = s.rng;
      const int expected = reference.act(ReferenceAgent::see(rules, s, a), same);
      const int actual = simple_action(rules, s, a);
      Rng after = s.rng;
      wrong += actual != expected || after.next() != same.next() ? 1 : 0;
      ++kinds[actual];
    }
  }
  CHECK(wrong == 0);
  for (const int count : kinds) CHECK(count > 50);
}

}  // namespace
}  // namespace ludus::pommerman
