#include <bit>

#include "game/match.hpp"
#include "game/perft.hpp"
#include "games/connect_four/connect_four.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

using C = ConnectFour;

struct Match {
  C::Rules rules = C::make_rules({});
  C::State s{};
  explicit Match(const char* columns = "", MatchSeed seed = {}) {
    C::reset(rules, s, seed);
    for (; *columns != 0; ++columns) play(*columns - 'a');
  }
  void play(std::int32_t column) {
    C::act(rules, s, s.to_move, {&column, 1});
    C::advance(rules, s);
  }
  [[nodiscard]] float result(int seat) const {
    std::array<float, 2> out{};
    C::outcome(rules, s, out);
    return out[static_cast<std::size_t>(seat)];
  }
};

TEST_CASE("connect_four: four across, up and along both diagonals win") {
  for (const char* columns : {"aabbccd", "gagagag", "abbccdcddgd", "gffeededdad", "ddeeffg"}) {
    INFO(std::string(columns));
    Match m(columns);
    CHECK(C::status(m.rules, m.s).over);
    CHECK(m.result(0) == 1.0F);
    CHECK(m.result(1) == -1.0F);
    CHECK(C::to_act(m.rules, m.s) == 0);
  }
}

TEST_CASE("connect_four: no line runs over the edge of the board") {
  // Three at the top of column a and the lowest cell of column b would be neighbours without the
  // free bit above each column; so would row ends one row apart.
  const auto bit = [](int column, int row) {
    return std::uint64_t{1} << (column * C::kStride + row);
  };
  CHECK_FALSE(C::four(bit(0, 3) | bit(0, 4) | bit(0, 5) | bit(1, 0)));
  CHECK_FALSE(C::four(bit(0, 5) | bit(2, 0) | bit(3, 1) | bit(4, 2)));
  CHECK_FALSE(C::four(bit(0, 2) | bit(1, 1) | bit(2, 0) | bit(2, 5)));
  CHECK(C::four(bit(3, 2) | bit(4, 3) | bit(5, 4) | bit(6, 5)));
}

TEST_CASE("connect_four: a full board without four is a draw") {
  Match m("abababbababacdcdcddcdcdcefefeffefefegggggg");
  CHECK(m.s.tick == C::kCells);
  CHECK(C::status(m.rules, m.s).over);
  CHECK(m.result(0) == 0.0F);
}

TEST_CASE("connect_four: full columns are masked and refused") {
  Match m("aaaaaa");
  std::array<std::uint8_t, 7> mask{};
  C::legal(m.rules, m.s, 0, mask.data());
  CHECK(mask == std::array<std::uint8_t, 7>{0, 1, 1, 1, 1, 1, 1});
  const std::int32_t full = 0;
  CHECK_THROWS_WITH_AS(C::act(m.rules, m.s, 0, {&full, 1}), "connect_four: column 0 is full",
                       GameError);
}

TEST_CASE("connect_four: planes hold the highest row first, own stones first") {
  Match m("dcdg");
  std::array<std::byte, 11> bytes{};
  std::byte* tensors[] = {bytes.data()};
  C::observe(m.rules, m.s, 1, tensors);  // seat 1 has c1, g1; seat 0 has d1, d2
  for (int i = 0; i < 84; ++i) {
    const bool set =
        (std::to_integer<unsigned>(bytes[static_cast<std::size_t>(i) / 8]) >> i % 8 & 1U) != 0;
    const bool expected =
        i == 5 * 7 + 2 || i == 5 * 7 + 6 || i == 42 + 5 * 7 + 3 || i == 42 + 4 * 7 + 3;
    INFO(i);
    CHECK(set == expected);
  }
}

TEST_CASE("connect_four: threats are the free cells that one stone more turns into four") {
  Rng rng(MatchSeed{.seed = 5}, 0);
  int found = 0;
  for (int n = 0; n < 300; ++n) {
    Match m;
    for (auto plies = rng.below(42); plies > 0 && !C::status(m.rules, m.s).over; --plies) {
      const std::uint64_t free = C::landing(m.s.stones[0] | m.s.stones[1]);
      auto column = static_cast<int>(rng.below(C::kColumns));
      while ((free & C::column_mask(column)) == 0) column = (column + 1) % C::kColumns;
      m.play(column);
    }
    const std::uint64_t occupied = m.s.stones[0] | m.s.stones[1];
    for (const std::uint64_t stones : m.s.stones) {
      if (C::four(stones)) continue;
      std::uint64_t expected = 0;
      for (int bit = 0; bit < C::kColumns * C::kStride; ++bit) {
        const std::uint64_t cell = std::uint64_t{1} << bit;
        if ((cell & C::kBoard & ~occupied) != 0 && C::four(stones | cell)) expected |= cell;
      }
      CHECK(C::threats(stones, occupied) == expected);
      found += std::popcount(expected);
    }
  }
  CHECK(found > 300);
}

TEST_CASE("connect_four: features = threats or parity add what can be read off the stones") {
  Params params;
  params.set("features", "threats");
  Match m("dcdcd");  // seat 0 has d1, d2, d3 and wins with d4; seat 1 has c1, c2
  m.rules = C::make_rules(params);
  const GameSpec spec = C::spec(m.rules);
  REQUIRE(spec.observation[0].shape == std::vector<int>{6, 6, 7});
  REQUIRE(spec.observation[0].labels.size() == 6);
  std::array<std::byte, 32> bytes{};
  std::byte* tensors[] = {bytes.data()};
  C::observe(m.rules, m.s, 1, tensors);
  const auto cells = [&](int plane) {
    std::vector<std::string> names;
    for (int i = 0; i < C::kCells; ++i) {
      const auto at = static_cast<std::size_t>(plane * C::kCells + i);
      if ((std::to_integer<unsigned>(bytes[at / 8]) >> at % 8 & 1U) == 0) continue;
      names.push_back(std::string(1, static_cast<char>('a' + i % C::kColumns)) +
                      std::to_string(C::kRows - i / C::kColumns));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(cells(0) == Names{"c2", "c1"});
  CHECK(cells(1) == Names{"d3", "d2", "d1"});
  CHECK(cells(2) == Names{});
  CHECK(cells(3) == Names{"d4"});
  CHECK(cells(4) == Names{"d4", "c3", "a1", "b1", "e1", "f1", "g1"});
  CHECK(cells(5).size() == 21);
  CHECK(cells(5).back() == "g1");

  // Where each answers in the other's column, odd rows fall to who moved first.
  params.set("features", "parity");
  m.rules = C::make_rules(params);
  CHECK(C::spec(m.rules).observation[0].labels.back() == "own_rows");
  const auto lowest = [&](int seat) {
    C::observe(m.rules, m.s, seat, tensors);
    CHECK(cells(4).size() == 7);
    CHECK(cells(5).size() == 21);
    return cells(5).back();
  };
  for (int more = 0; more < 2; ++more) {
    CHECK(lowest(0) == "g1");
    CHECK(lowest(1) == "g2");
    m.play(0);
  }
  params.set("opens", "seat1");
  m.rules = C::make_rules(params);
  C::reset(m.rules, m.s, {1, 1});
  CHECK(lowest(0) == "g2");
  CHECK(lowest(1) == "g1");
}

TEST_CASE("connect_four: what is foreseen is so, and a key is a position") {
  Rng rng(MatchSeed{.seed = 8}, 0);
  std::array<int, 4> seen{};
  for (int n = 0; n < 3000; ++n) {
    Match m, mirror;
    C::reset(mirror.rules, mirror.s, {99, 7});
    while (!C::status(m.rules, m.s).over) {
      const std::uint64_t free = C::landing(m.s.stones[0] | m.s.stones[1]);
      const auto open = [&](std::size_t c) {
        return (free & C::column_mask(static_cast<int>(c))) != 0;
      };
      if (m.s.tick <= 16) {
        REQUIRE(C::key(m.rules, m.s) == C::key(mirror.rules, mirror.s));
      }
      // Each move: 1 wins at once, -1 lets the opponent win at once.
      std::array<int, C::kColumns> after{};
      for (std::size_t c = 0; c < after.size(); ++c) {
        if (!open(c)) continue;
        Match next = m;
        next.play(static_cast<int>(c));
        REQUIRE(C::key(m.rules, next.s) != C::key(m.rules, m.s));
        const std::uint64_t occupied = next.s.stones[0] | next.s.stones[1];
        const bool loses =
            (C::landing(occupied) & C::threats(next.s.stones[next.s.to_move], occupied)) != 0;
        after[c] = next.s.winner >= 0 ? 1 : loses ? -1 : 0;
      }
      std::array<std::uint16_t, C::kColumns> moves{};
      const StaticEvaluation f = C::static_evaluation(m.rules, m.s, moves);
      ++seen[static_cast<std::size_t>(f.value.value_or(2) + 1)];
      const bool wins = std::ranges::find(after, 1) != after.end();
      REQUIRE((f.value == 1) == wins);
      if (!wins) {
        std::vector<std::uint16_t> hold;
        for (std::uint16_t c = 0; c < C::kColumns; ++c) {
          if (open(c) && after[c] == 0) hold.push_back(c);
        }
        REQUIRE((f.value == -1) == hold.empty());
        if (f.value == 0) CHECK(m.s.tick >= 40);
        if (!f.value) {
          std::vector<std::uint16_t> given(moves.begin(), moves.begin() + f.count);
          std::ranges::sort(given);
          REQUIRE(given == hold);
        }
      }
      auto column = static_cast<int>(rng.below(C::kColumns));
      while (!open(static_cast<std::size_t>(column))) column = (column + 1) % C::kColumns;
      m.play(column);
      mirror.play(C::kColumns - 1 - column);
    }
  }
  CHECK(seen[0] > 100);
  CHECK(seen[1] > 0);
  CHECK(seen[2] > 100);
  CHECK(seen[3] > 10000);
}

TEST_CASE("connect_four: perft") {
  // 7^n until a column is full: of 7^7 paths seven have seven stones in one. The eighth number is
  // OpenSpiel's (benchmarks/cross_checks/open_spiel_games.py).
  constexpr std::uint64_t kPaths[] = {7, 49, 343, 2401, 16807, 117649, 823536};
  for (int d = 1; d <= 7; ++d) CHECK(perft<C>({}, {}, 0, d) == kPaths[d - 1]);
}

TEST_CASE("connect_four: tactical wins, blocks, and beats random") {
  Match win("aabbcc");
  C::bot(win.rules, win.s, 0, 1);
  CHECK(win.s.chosen == 3);
  Match block("aabbc");
  C::bot(block.rules, block.s, 1, 1);
  CHECK(block.s.chosen == 3);
  MatchContext<C> c{Params{}};
  int wins = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const int tactical = static_cast<int>(i % 2);
    std::vector<SeatDriver> drivers(2);
    drivers[static_cast<std::size_t>(tactical)].bot = 1;
    drivers[static_cast<std::size_t>(1 - tactical)].bot = 0;
    const Replay r = record_match<C>(c, {}, {3, i}, drivers, 16);
    wins += r.outcome[static_cast<std::size_t>(tactical)] > 0 ? 1 : 0;
  }
  CHECK(wins > 380);
}

}  // namespace
}  // namespace ludus
