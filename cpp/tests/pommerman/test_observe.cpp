// Observations and messages of seats.
#include "game/conformance.hpp"
#include "games/pommerman/observe.hpp"
#include "games/pommerman/pommerman.hpp"
#include "tests/doctest.hpp"

namespace ludus::pommerman {
namespace {

struct Seen {
  std::vector<std::uint8_t> board;
  std::array<std::uint16_t, 10> about{};
  std::array<std::uint8_t, 2> message{};
  int n;

  Seen(const Rules& rules, const State& s, int seat)
      : board(static_cast<std::size_t>(3 * rules.size * rules.size)), n(rules.size) {
    const std::array<std::byte*, 3> out = {reinterpret_cast<std::byte*>(board.data()),
                                           reinterpret_cast<std::byte*>(about.data()),
                                           reinterpret_cast<std::byte*>(message.data())};
    observe(rules, s, seat, std::span(out).first(rules.radio() ? 3 : 2));
  }
  [[nodiscard]] int low(int plane, int row, int column) const {
    return at(plane, row, column) & 15;
  }
  [[nodiscard]] int high(int plane, int row, int column) const {
    return at(plane, row, column) >> 4;
  }

 private:
  [[nodiscard]] int at(int plane, int row, int column) const {
    return board[static_cast<std::size_t>((plane * n + row) * n + column)];
  }
};

Params with(std::initializer_list<std::pair<const char*, const char*>> values) {
  Params p;
  for (const auto& [name, value] : values) p.set(name, value);
  return p;
}

TEST_CASE("pommerman: every mode conforms") {
  for (const Params& p :
       {with({{"mode", "team"}, {"fog", "1"}}), with({{"mode", "radio"}, {"fog", "1"}}),
        with({{"mode", "one_vs_one"}, {"mask", "careful"}}),
        with({{"collapse", "1"}, {"collapse_from", "20"}, {"reward", "original"}})}) {
    Conformance<Pommerman> c(p, 5, 300);
    const Findings& f = c.run(4);
    INFO(f.json());
    CHECK(f.clean());
  }
}

TEST_CASE("pommerman: a seat sees itself as the first agent") {
  const Rules rules = Pommerman::make_rules({});
  State s;
  Pommerman::reset(rules, s, {1, 1});
  for (int seat = 0; seat < kAgents; ++seat) {
    const Seen seen(rules, s, seat);
    for (int a = 0; a < kAgents; ++a) {
      const Cell cell = s.agent[static_cast<std::size_t>(a)].cell;
      CHECK(seen.low(0, row_of(cell), column_of(cell)) == kAgent0 + (a - seat + 4) % 4);
    }
    CHECK(seen.about[0] == row_of(s.agent[static_cast<std::size_t>(seat)].cell));
    CHECK(seen.about[2] == 1);
    CHECK(seen.about[3] == 2);
    CHECK(seen.about[8] == 1);
  }
}

TEST_CASE("pommerman: bombs, flames and the steps until a blast arrives") {
  const Rules rules = bare_rules(11);
  State s;
  place_start(rules, s);
  s.bomb[s.bombs++] = {cell_at(5, 5), 0, 7, 4, kUp};
  s.bomb[s.bombs++] = {cell_at(5, 7), 0, 3, 3, kStop};  // sets off the first
  s.board[cell_at(5, 5)] = s.board[cell_at(5, 7)] = kBomb;
  s.board[cell_at(7, 5)] = kWood;
  s.board[cell_at(4, 5)] = kRigid;
  s.flames[0].add(cell_at(9, 3));
  s.flames[2].add(cell_at(9, 3));
  s.board[cell_at(9, 3)] = kFlames;
  const Seen seen(rules, s, 0);
  CHECK(seen.low(0, 9, 3) == kFlames);
  CHECK(seen.high(0, 9, 3) == 3);  // of flames that share a cell the youngest counts
  CHECK(seen.low(1, 5, 5) == 4);
  CHECK(seen.high(1, 5, 5) == 7);
  CHECK(seen.high(2, 5, 5) == kUp);
  CHECK(seen.low(2, 5, 5) == 3);
  CHECK(seen.low(2, 5, 9) == 3);
  CHECK(seen.low(2, 5, 10) == 0);
  CHECK(seen.low(2, 5, 2) == 3);
  CHECK(seen.low(2, 4, 5) == 0);
  CHECK(seen.low(2, 6, 5) == 3);
  CHECK(seen.low(2, 7, 5) == 3);
  CHECK(seen.low(2, 8, 5) == 0);
}

TEST_CASE("pommerman: fog hides what is more than four cells away, and who lives is known") {
  const Rules rules = Pommerman::make_rules(with({{"mode", "team"}, {"fog", "1"}}));
  CHECK(rules.max_blast == 4);
  State s;
  Pommerman::reset(rules, s, {1, 2});
  s.bomb[s.bombs++] = {cell_at(1, 7), 3, 5, 4, kStop};
  s.board[cell_at(1, 7)] = kBomb;
  s.agent[2].alive = 0;
  const Seen seen(rules, s, 0);
  for (int r = 0; r < 11; ++r) {
    for (int c = 0; c < 11; ++c) {
      const bool visible = r <= 5 && c <= 5;
      CHECK((seen.low(0, r, c) == kFog) == !visible);
      CHECK(seen.low(1, r, c) == 0);
      CHECK(seen.low(2, r, c) == 0);  // a bomb out of sight warns no one
    }
  }
  CHECK(seen.about[5] == 1);
  CHECK(seen.about[7] == 0);
  const Seen enemy(rules, s, 3);
  CHECK(enemy.low(1, 1, 7) == 4);
}

TEST_CASE("pommerman: fog starts in the fifth row and column, on every side") {
  Rules rules = bare_rules(11);
  State s;
  place_start(rules, s);
  rules.fog = true;
  s.board[s.agent[0].cell] = kPassage;
  s.agent[0].cell = cell_at(5, 5);
  s.board[s.agent[0].cell] = kAgent0;
  // A wall, flames and a bomb of blast 2 four cells away; the same five cells away.
  const std::array<std::array<int, 2>, 4> sides = {{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
  for (const auto& [dr, dc] : sides) {
    for (const int far : {4, 5}) {
      const auto cell = [&](int along) {  // a step sideways each
        return cell_at(5 + far * dr + along * dc, 5 + far * dc + along * dr);
      };
      s.board[cell(-2)] = kWood;
      s.board[cell(0)] = kFlames;
      s.flames[1].add(cell(0));
      s.board[cell(2)] = kBomb;
      s.bomb[s.bombs++] = {cell(2), 0, static_cast<std::uint8_t>(far), 3, kStop};
    }
  }
  const Seen seen(rules, s, 0);
  for (const auto& [dr, dc] : sides) {
    for (const int far : {4, 5}) {
      CAPTURE(far);
      const auto row = [&](int along) { return 5 + far * dr + along * dc; };
      const auto column = [&](int along) { return 5 + far * dc + along * dr; };
      const bool shown = far == 4;
      CHECK(seen.low(0, row(-2), column(-2)) == (shown ? kWood : kFog));
      CHECK(seen.low(0, row(0), column(0)) == (shown ? kFlames : kFog));
      CHECK(seen.high(0, row(0), column(0)) == (shown ? 2 : 0));
      CHECK(seen.low(1, row(2), column(2)) == (shown ? 3 : 0));
      CHECK(seen.high(1, row(2), column(2)) == (shown ? 4 : 0));
      CHECK(seen.low(2, row(2), column(2)) == (shown ? 4 : 0));
      CHECK(seen.low(2, row(1), column(1)) == (shown ? 4 : 0));  // the blast along the edge
    }
  }
  for (int r = 0; r < 11; ++r) {
    for (int c = 0; c < 11; ++c) {
      const bool inside = r >= 1 && r <= 9 && c >= 1 && c <= 9;
      CHECK((seen.low(0, r, c) == kFog) == !inside);
      if (!inside) CHECK(seen.low(2, r, c) == 0);  // no blast leads out of sight
    }
  }
}

TEST_CASE("pommerman: words reach the teammate one step later, the dead say nothing") {
  const Rules rules = Pommerman::make_rules(with({{"mode", "radio"}}));
  CHECK(Pommerman::spec(rules).heads.size() == 3);
  State s;
  Pommerman::reset(rules, s, {1, 2});
  const std::array<std::int32_t, 3> action = {kStop, 5, 7};
  Pommerman::act(rules, s, 2, action);
  Pommerman::advance(rules, s);
  CHECK(Seen(rules, s, 0).message == std::array<std::uint8_t, 2>{1U << 5, 1U << 7});
  CHECK(Seen(rules, s, 1).message == std::array<std::uint8_t, 2>{1, 1});
  s.agent[2].alive = 0;
  Pommerman::act(rules, s, 2, action);
  Pommerman::advance(rules, s);
  CHECK(Seen(rules, s, 0).message == std::array<std::uint8_t, 2>{1, 1});
  const std::array<std::int32_t, 3> wrong = {kStop, 8, 0};
  CHECK_THROWS_AS(Pommerman::act(rules, s, 0, wrong), GameError);
}

TEST_CASE("pommerman: what the masks leave out") {
  for (const char* kind : {"all", "useful", "careful"}) {
    const Rules rules = Pommerman::make_rules(with({{"mask", kind}}));
    State s;
    Pommerman::reset(rules, s, {1, 2});
    s.board[cell_at(0, 1)] = kRigid;
    s.board[cell_at(1, 0)] = kFlames;
    s.flames[1].add(cell_at(1, 0));
    s.board[cell_at(1, 2)] = kBomb;
    s.bomb[s.bombs++] = {cell_at(1, 2), 3, 5, 4, kStop};
    s.board[cell_at(1, 3)] = kPassage;
    s.agent[0].ammo = 0;
    std::array<std::uint8_t, 6> mask{};
    legal(rules, s, 0, mask.data());
    const bool all = rules.mask == Mask::all;
    const bool careful = rules.mask == Mask::careful;
    CHECK(mask[kStop] == 1);
    CHECK(mask[kUp] == (all ? 1 : 0));
    CHECK(mask[kDown] == 1);
    CHECK(mask[kLeft] == (careful ? 0 : 1));
    CHECK(mask[kRight] == (careful ? 0 : 1));
    CHECK(mask[kLayBomb] == (all ? 1 : 0));
    s.agent[0].can_kick = 1;
    s.agent[0].ammo = 1;
    s.flames[1] = {};
    s.flames[0].add(cell_at(1, 0));
    legal(rules, s, 0, mask.data());
    CHECK(mask[kLeft] == 1);
    CHECK(mask[kRight] == 1);
    CHECK(mask[kLayBomb] == 1);
  }
}

}  // namespace
}  // namespace ludus::pommerman
