// Capture the Flag: exactness against the original, determinism, flags and revivals, masks,
// rewards, and that the ruleset "clean" is the same game from both seats.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/hash.hpp"
#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/capture_the_flag/observe.hpp"
#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/units.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/flag_mirror.hpp"
#include "tests/rts/playing.hpp"
#include "tests/rts/trace.hpp"

namespace ludus {
using namespace tests;

namespace {

using G = CaptureTheFlag;
constexpr int kSimple = 0;
constexpr int kRandom = 1;

// A seat sees what its units see, and where the flag is.
std::uint64_t sees(const G::Rules& rules, const rts::State& s, int seat) {
  const rts::FlagPlace flag = rts::find_flag(rules, s);
  std::uint64_t seen = rts::visible_units(rules.engine, s, rts::sight_of(rules.engine, s, seat));
  for (const int slot : {flag.free, flag.carrier}) {
    if (slot != rts::kNone) seen |= std::uint64_t{1} << slot;
  }
  return seen;
}

struct Observed {
  std::vector<std::uint16_t> cells =
      std::vector<std::uint16_t>(rts::kFlagCellRows * rts::kFlagCellCols);
  std::vector<std::uint8_t> units =
      std::vector<std::uint8_t>(rts::kFlagUnitRows * rts::kFlagUnitCols);
  std::vector<float> globals = std::vector<float>(rts::kFlagGlobals);

  void look(const G::Rules& rules, const G::State& s, int seat) {
    const std::array<std::byte*, 3> out = {reinterpret_cast<std::byte*>(cells.data()),
                                           reinterpret_cast<std::byte*>(units.data()),
                                           reinterpret_cast<std::byte*>(globals.data())};
    G::observe(rules, s, seat, out);
  }
};

TEST_CASE("capture_the_flag: recorded matches of the original agree at every tick") {
  std::ifstream in(std::string(LUDUS_SOURCE_DIR) + "/tests/golden/rts/ctf_traces.txt");
  const std::vector<rts::TraceResult> results = rts::compare_traces(in);
  CHECK(results.size() == 3);
  for (const rts::TraceResult& r : results) {
    INFO(r.name, ": first difference at tick ", r.first_bad, " ", r.end);
    CHECK(r.agrees);
    CHECK(r.ticks > 2900);
  }
}

TEST_CASE("capture_the_flag: pinned behaviour over 100,000 ticks") {
  CHECK(digest<G>("elf", {{kSimple, kSimple}, 50}) == 0x201dac2271e8d1ULL);
  CHECK(digest<G>("elf", {{kRandom, kSimple}, 10}) == 0x4b74fc517196d40aULL);
  CHECK(digest<G>("clean", {{kSimple, kRandom}, 20}) == 0x942afae840ac3170ULL);
}

TEST_CASE("capture_the_flag: playing allocates nothing") {
  check_playing_allocates_nothing<G>({{kSimple, kRandom}, 10, 30000});
}

TEST_CASE("capture_the_flag: a copy of what is in use is the match") {
  check_copies<G>({{kSimple, kSimple}, 10, 60000});
}

TEST_CASE("capture_the_flag: there is one flag, and ten athletes come back") {
  for (const char* ruleset : {"elf", "clean"}) {
    const G::Rules rules = G::make_rules(Params{{{"ruleset", ruleset}}});
    int carried = 0;
    int most = 0;
    play<G>(rules, {{kSimple, kRandom}, 10, 60000}, [&](const G::State& s) {
      const rts::FlagPlace flag = rts::find_flag(rules, s.world);
      const int flags = (flag.free != rts::kNone ? 1 : 0) + (flag.carrier != rts::kNone ? 1 : 0) +
                        (s.world.flag_falls ? 1 : 0);
      CHECK(flags == 1);
      if (flag.carrier != rts::kNone) {
        ++carried;
        CHECK(s.world.speed[flag.carrier] == doctest::Approx(0.1 / 3));
      }
      int athletes = 0;
      for (int seat = 0; seat < 2; ++seat) athletes += s.world.units[seat] - 1;
      most = std::max(most, athletes);
      // The ruleset "elf" loses those who die together.
      if (rules.clean) {
        const int reviving = (s.world.cmd[0] == rts::Cmd::build ? 1 : 0) +
                             (s.world.cmd[30] == rts::Cmd::build ? 1 : 0);
        CHECK(athletes + s.world.revivals + reviving == 10);
      }
    });
    CHECK(carried > 100);
    CHECK(most == 10);
  }
}

TEST_CASE("capture_the_flag: what the mask rules out does nothing") {
  const G::Rules rules = G::make_rules({});
  std::array<int, rts::kFlagActions> legal{};
  std::array<int, rts::kFlagActions> illegal{};
  play<G>(rules, {{kRandom, kSimple}, 25, 60000}, [&](const G::State& s) {
    std::array<std::uint8_t, rts::kFlagActions> mask{};
    G::legal(rules, s, 0, mask.data());
    REQUIRE(mask[0] == 1);
    if (G::to_act(rules, s) == 0) return;
    const std::uint64_t before = G::hash(rules, s);
    for (std::int32_t a = 1; a < rts::kFlagActions; ++a) {
      G::State t = s;
      G::act(rules, t, 0, {&a, 1});
      // An order that repeats what a unit started in this very tick leaves no trace, so that a
      // legal choice may look like none; an illegal one must.
      if (mask[static_cast<std::size_t>(a)] != 0) {
        legal[static_cast<std::size_t>(a)] += G::hash(rules, t) != before ? 1 : 0;
      } else {
        REQUIRE(G::hash(rules, t) == before);
        ++illegal[static_cast<std::size_t>(a)];
      }
    }
  });
  for (std::size_t a = 1; a < rts::kFlagActions; ++a) {
    CHECK(legal[a] > 0);
    CHECK(illegal[a] > 0);
  }
}

TEST_CASE("capture_the_flag: a choice outside the head is refused") {
  check_refuses_what_is_outside<G>(rts::kFlagActions, 3);
}

TEST_CASE("capture_the_flag: rewards") {
  for (const char* ruleset : {"elf", "clean"}) {
    const G::Rules rules = G::make_rules(Params{{{"ruleset", ruleset}}});
    G::State s{};
    std::array<float, 2> out{};
    int points = 0;
    int ended = 0;
    for (std::uint64_t match = 0; match < 4; ++match) {
      G::reset(rules, s, {.seed = 3, .match = match});
      while (!G::status(rules, s).over) {
        if (G::tick(s) % 50 == 0) {
          G::bot(rules, s, 0, kSimple);
          G::bot(rules, s, 1, kSimple);
        }
        const int before[2] = {s.world.money[0], s.world.money[1]};
        G::advance(rules, s);
        G::rewards(rules, s, out);
        if (s.world.over) {
          CHECK(out[static_cast<std::size_t>(s.world.winner)] == 1.0F);
          CHECK(out[static_cast<std::size_t>(1 - s.world.winner)] == -1.0F);
          ++ended;
          continue;
        }
        CHECK(out[1] == (rules.clean ? -out[0] : out[0]));
        const int gained = s.world.money[0] - before[0] - (s.world.money[1] - before[1]);
        if (gained == 0) continue;
        ++points;
        CHECK(out[0] == doctest::Approx(0.2 * gained));
      }
    }
    CHECK(points >= 16);
    CHECK(ended == 4);
  }
}

TEST_CASE("capture_the_flag: clean is the same game from both seats") {
  const G::Rules rules = G::make_rules(Params{{{"ruleset", "clean"}}});
  Observed mine;
  Observed theirs;
  int compared = 0;
  int seen = 0;
  int rounded = 0;
  int paid = 0;
  play<G>(rules, {{kRandom, kSimple}, 25, 40000}, [&](const G::State& s) {
    G::State m = mirrored(rules, s);
    for (int seat = 0; seat < 2; ++seat) {
      mine.look(rules, s, seat);
      theirs.look(rules, m, 1 - seat);
      // Mirrored coordinates are rounded, so that now and then a cell or a byte is the next one.
      rounded += mine.cells == theirs.cells ? 0 : 1;
      for (std::size_t i = 0; i < mine.units.size(); ++i) {
        REQUIRE(std::abs(mine.units[i] - theirs.units[i]) <= 1);
      }
      for (std::size_t i = 0; i < mine.globals.size(); ++i) {
        INFO("global ", i);
        REQUIRE(mine.globals[i] == doctest::Approx(theirs.globals[i]).epsilon(1e-5));
      }
      std::array<std::uint8_t, rts::kFlagActions> a{};
      std::array<std::uint8_t, rts::kFlagActions> b{};
      G::legal(rules, s, seat, a.data());
      G::legal(rules, m, 1 - seat, b.data());
      REQUIRE(a == b);
      seen += mine.globals[22] > 0.0F ? 1 : 0;
    }
    // One tick on, both have earned the same, wherever the tick was the same: who gives way to the
    // left gives way to the right in a mirror.
    G::State next = s;
    G::advance(rules, next);
    G::advance(rules, m);
    std::array<float, 2> out{};
    std::array<float, 2> other{};
    G::rewards(rules, next, out);
    G::rewards(rules, m, other);
    ++compared;
    if (std::abs(next.flag_x + m.flag_x - 19.0F) > 1e-5F) return;
    ++paid;
    CHECK(std::abs(out[0] - other[1]) < 1e-5F);
    CHECK(std::abs(out[1] - other[0]) < 1e-5F);
  });
  CHECK(compared > 1000);
  CHECK(seen > 500);
  CHECK(rounded < compared / 100);
  CHECK(paid > compared * 3 / 4);
}

TEST_CASE("capture_the_flag: an observation holds nothing from the fog") {
  const G::Rules rules = G::make_rules({});
  Observed a;
  Observed b;
  int hidden = 0;
  int hit = 0;
  play<G>(rules, {{kSimple, kRandom}, 50, 30000}, [&](const G::State& s) {
    G::State other = s;
    const std::uint64_t seen = sees(rules, s.world, 0);
    rts::for_units(rules.engine, other.world, 1, [&](int i) {
      if ((seen >> i & 1) != 0) {
        other.world.cmd[i] = rts::Cmd::idle;  // what a visible enemy is up to is not shown either
        other.world.last[rts::kCdAttack][i] = 7;
        ++hit;
        other.world.damaged_by[i] = static_cast<std::uint8_t>(rules.engine.first_slot[0]);
        return;
      }
      ++hidden;
      other.world.hp[i] = 1;
    });
    a.look(rules, s, 0);
    b.look(rules, other, 0);
    REQUIRE(a.cells == b.cells);
    REQUIRE(a.units == b.units);
    REQUIRE(a.globals == b.globals);
  });
  CHECK(hidden > 1000);
  CHECK(hit > 1000);
}

// The paper's planes, straight from the state: what a later unit writes replaces what is there.
std::vector<float> reference_planes(const G::Rules& rules, const rts::State& s, int seat) {
  std::vector<float> planes(11 * 400, 0.0F);
  const std::uint64_t seen = sees(rules, s, seat);
  rts::for_bits(seen, [&](int i) {
    const int cell = static_cast<int>(s.y[i]) * 20 + static_cast<int>(s.x[i]);
    const auto at = [&](int plane) -> float& {
      return planes[static_cast<std::size_t>(plane * 400 + cell)];
    };
    at(s.type[i]) = 1.0F;
    at(3) = static_cast<float>(rules.engine.owner_of(i) + 1);
    at(4) = static_cast<float>(s.hp[i] / (rules.engine.type[s.type[i]].hp + 1e-6));
    at(5) = (s.carrying >> i & 1) != 0 ? 1.0F : 0.0F;
  });
  std::fill_n(planes.begin() + (6 + std::min(s.money[seat], 4)) * 400, 400, 1.0F);
  return planes;
}

// As the codec rts_flag_cells does (ludus/codecs/rts_flag_cells.py).
std::vector<float> expand(const std::vector<std::uint16_t>& cells) {
  std::vector<float> planes(11 * 400, 0.0F);
  for (int r = 0; r < rts::kFlagUnitRows; ++r) {
    const std::uint16_t* row = &cells[static_cast<std::size_t>(r * rts::kFlagCellCols)];
    if (row[0] == 0) continue;
    const auto at = [&](int plane) -> float& {
      return planes[static_cast<std::size_t>(plane * 400 + row[0] - 1)];
    };
    at(row[1] & 3) = 1.0F;
    if (row[1] >= 4) continue;
    at(3) = static_cast<float>(row[2] & 7);
    at(4) = static_cast<float>(row[3] / (row[4] + 1e-6));
    at(5) = row[2] >= 8 ? 1.0F : 0.0F;
  }
  const int score = cells[static_cast<std::size_t>(rts::kFlagUnitRows * rts::kFlagCellCols)];
  std::fill_n(planes.begin() + (6 + std::min(score, 4)) * 400, 400, 1.0F);
  return planes;
}

TEST_CASE("capture_the_flag: cells hold exactly the paper's planes") {
  const G::Rules rules = G::make_rules({});
  Observed o;
  int carried = 0;
  play<G>(rules, {{kSimple, kSimple}, 10, 40000}, [&](const G::State& s) {
    for (int seat = 0; seat < 2; ++seat) {
      o.look(rules, s, seat);
      const std::vector<float> planes = expand(o.cells);
      REQUIRE(planes == reference_planes(rules, s.world, seat));
      carried += std::count(planes.begin() + 5 * 400, planes.begin() + 6 * 400, 1.0F) > 0 ? 1 : 0;
    }
  });
  CHECK(carried > 1000);
}

TEST_CASE("capture_the_flag: handicap and rulebook") {
  const G::Rules strong = G::make_rules(Params{{{"handicap", "5"}}});
  CHECK(strong.engine.type[rts::kHandicapped].hp == 200);
  CHECK(strong.engine.type[rts::kHandicapped].attack == 20);
  CHECK(strong.engine.type[rts::kHandicapped].speed == doctest::Approx(0.2));
  G::State s{};
  G::reset(strong, s, {});
  CHECK(s.world.hp[1] == 200);
  CHECK(s.world.hp[strong.engine.first_slot[1] + 1] == 100);
  const G::Rules same = G::make_rules({});
  CHECK(same.engine.type[rts::kHandicapped].speed == same.engine.type[rts::kAthlete].speed);
  const G::Rules book =
      G::make_rules(Params{{{"rulebook", "athlete.hp=120\ncarry.to_win=3\nrevive.ticks=50"}}});
  CHECK(book.engine.type[rts::kAthlete].hp == 120);
  CHECK(book.engine.flag.to_win == 3);
  CHECK(book.engine.revive.ticks == 50);
  try {
    (void)G::make_rules(Params{{{"rulebook", "athlete.hpp=1"}}});
    FAIL("accepted");
  } catch (const ParamError& e) {
    CHECK(std::string(e.what()) ==
          "capture_the_flag.rulebook line 1: unknown key 'athlete.hpp' (did you mean "
          "athlete.hp?)");
  }
}

}  // namespace
}  // namespace ludus
