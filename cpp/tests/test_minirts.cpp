// MiniRTS: exactness against the original, determinism, observation, masks, rules.
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/hash.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/minirts/observe.hpp"
#include "games/rts/minirts/strategy.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/playing.hpp"
#include "tests/rts/trace.hpp"

namespace ludus {
using namespace tests;

namespace {

using M = MiniRts;
constexpr int kSimple = 0;
constexpr int kHitAndRunBot = 1;
constexpr int kRandomBot = 2;

std::string golden_traces() {
  std::ifstream in(std::string(LUDUS_SOURCE_DIR) + "/tests/golden/rts/minirts_traces.txt");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_CASE("minirts: recorded matches of the original agree at every tick") {
  std::istringstream in(golden_traces());
  const std::vector<rts::TraceResult> results = rts::compare_traces(in);
  CHECK(results.size() == 8);
  for (const rts::TraceResult& r : results) {
    INFO(r.name, ": first difference at tick ", r.first_bad, " ", r.end);
    CHECK(r.agrees);
    CHECK(r.ticks > 500);
  }
}

TEST_CASE("minirts: a changed trace is noticed") {
  std::string text = golden_traces();
  const std::size_t at = text.find("crc 51 ") + 7 + 8 * 40;  // a checksum of tick 91 of game one
  text[at] = text[at] == '0' ? '1' : '0';
  std::istringstream in(text);
  const std::vector<rts::TraceResult> results = rts::compare_traces(in);
  CHECK_FALSE(results[0].agrees);
  CHECK(results[0].first_bad == 91);
  CHECK(results[1].agrees);
}

TEST_CASE("minirts: pinned behaviour over 100,000 ticks") {
  CHECK(digest<M>("elf", {{kSimple, kSimple}, 50}, 4) == 0xb41883e912e0ee1cULL);
  CHECK(digest<M>("elf", {{kHitAndRunBot, kRandomBot}, 20}, 4) == 0xb5076c835a363c14ULL);
  CHECK(digest<M>("clean", {{kSimple, kHitAndRunBot}, 10}, 4) == 0xa5d410112cefb897ULL);
}

TEST_CASE("minirts: the state is small") {
  // Fields that a copy takes over; the tables are no part of it.
  CHECK(offsetof(M::State, tables) <= 9216);
  // The rest is only read by path searches.
  CHECK(offsetof(rts::State, failed_searches) + sizeof(Rng) < 4992);
}

TEST_CASE("minirts: playing allocates nothing") {
  check_playing_allocates_nothing<M>({{kSimple, kHitAndRunBot}, 10, 30000});
}

TEST_CASE("minirts: a copy of what is in use is the match") {
  check_copies<M>({{kSimple, kHitAndRunBot}, 10, 60000});
}

// The planes by the original's recipe, straight from the state: values are gathered by (plane,
// cell) in rising unit id and averaged.
std::vector<float> reference_planes(const M::Rules& rules, const rts::State& s, int seat) {
  const int side = rules.engine.side;
  const int size = side * side;
  std::vector<float> planes(static_cast<std::size_t>(22 * size), 0.0F);
  std::map<int, std::pair<int, float>> values;
  const auto put = [&](int plane, int x, int y, float v) {
    auto& [n, sum] = values[(plane * side + y) * side + x];
    ++n;
    sum += v;
  };
  const rts::Sight sight = rts::sight_of(rules.engine, s, seat);
  float base = 0.0F;
  for (int owner = 0; owner < 2; ++owner) {
    rts::for_units(rules.engine, s, owner, [&](int i) {
      if (!sight.cell(static_cast<int>(s.x[i] + 0.5), static_cast<int>(s.y[i] + 0.5))) return;
      const int x = static_cast<int>(s.x[i]);
      const int y = static_cast<int>(s.y[i]);
      const auto ratio = static_cast<float>(s.hp[i] / (rules.engine.type[s.type[i]].hp + 1e-6));
      const int age = std::max(0, static_cast<int>(s.tick) - s.built[i]);
      put(s.type[i], x, y, 1.0F);
      put(6, x, y, owner == seat ? 1.0F : 2.0F);
      put(7, x, y, ratio);
      put(9, x, y, static_cast<float>(50.0 / (age + 1)));
      const int bin = age < 200     ? 0
                      : age < 500   ? 1
                      : age < 1000  ? 2
                      : age < 2000  ? 3
                      : age < 5000  ? 4
                      : age < 10000 ? 5
                                    : 6;
      put(10 + bin, x, y, 1.0F);
      if (owner == seat && s.type[i] == rts::kBase) base = ratio;
    });
  }
  for (const auto& [at, value] : values) {
    planes[static_cast<std::size_t>(at)] = value.second / static_cast<float>(value.first);
  }
  std::fill_n(planes.begin() + 8 * size, size, base);
  std::fill_n(planes.begin() + (17 + std::min(s.money[seat] / 50, 4)) * size, size, 1.0F);
  return planes;
}

struct Observed {
  std::vector<std::uint16_t> cells = std::vector<std::uint16_t>(rts::kCellRows * rts::kCellCols);
  std::vector<std::uint8_t> units = std::vector<std::uint8_t>(rts::kUnitRows * rts::kUnitCols);
  std::vector<float> globals = std::vector<float>(rts::kGlobals);

  Observed(const M::Rules& rules, const M::State& s, int seat) {
    const std::array<std::byte*, 3> out = {reinterpret_cast<std::byte*>(cells.data()),
                                           reinterpret_cast<std::byte*>(units.data()),
                                           reinterpret_cast<std::byte*>(globals.data())};
    M::observe(rules, s, seat, out);
  }
};

TEST_CASE("minirts: cells expand to exactly the paper's planes") {
  const M::Rules rules = M::make_rules({});
  std::vector<float> planes(22 * 400);
  int compared = 0;
  int shared = 0;
  play<M>(rules, {{kSimple, kRandomBot}, 20, 40000}, [&](const M::State& s) {
    for (int seat = 0; seat < 2; ++seat) {
      const Observed o(rules, s, seat);
      rts::expand_planes(o.cells, 20, planes);
      const std::vector<float> want = reference_planes(rules, s.world, seat);
      REQUIRE(std::memcmp(planes.data(), want.data(), planes.size() * sizeof(float)) == 0);
      ++compared;
      std::set<int> used;
      for (int r = 0; r < 64 && o.cells[r * 5] != 0; ++r) {
        shared += used.insert(o.cells[r * 5]).second ? 0 : 1;
      }
    }
  });
  CHECK(compared >= 4000);
  CHECK(shared > 50);  // some cells did hold several units
}

TEST_CASE("minirts: without fog a seat observes every unit, and matches go the same way") {
  const M::Rules foggy = M::make_rules({});
  const M::Rules clear = M::make_rules(Params({{"fog", "off"}}));
  const auto rows = [](const Observed& o) {
    int n = 0;
    for (int r = 0; r < rts::kCellRows - 1; ++r) {
      n += o.cells[static_cast<std::size_t>(r * rts::kCellCols)] != 0 ? 1 : 0;
    }
    return n;
  };
  std::vector<std::uint64_t> with, without;
  int more = 0;
  play<M>(foggy, {{kSimple, kHitAndRunBot}, 50, 5000},
          [&](const M::State& s) { with.push_back(M::hash(foggy, s)); });
  play<M>(clear, {{kSimple, kHitAndRunBot}, 50, 5000}, [&](const M::State& s) {
    without.push_back(M::hash(clear, s));
    const int all = rows(Observed(clear, s, 0));
    REQUIRE(all == M::units(clear, s));
    more += all > rows(Observed(foggy, s, 0)) ? 1 : 0;
  });
  CHECK(with == without);
  CHECK(more > 20);
}

TEST_CASE("minirts: an observation holds nothing from the fog") {
  const M::Rules rules = M::make_rules({});
  int hidden = 0;
  int hit = 0;
  play<M>(rules, {{kSimple, kHitAndRunBot}, 50, 20000}, [&](const M::State& s) {
    // Move every enemy unit that seat 0 cannot see, and change what it does: nothing may change.
    M::State other = s;
    const std::uint64_t seen =
        rts::visible_units(rules.engine, s.world, rts::sight_of(rules.engine, s.world, 0));
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
      other.world.built[i] = 0;
      other.world.type[i] = other.world.type[i] == rts::kBase ? rts::kBase : rts::kMelee;
    });
    other.world.money[1] += 1000;
    other.world.next_id = static_cast<std::uint16_t>(other.world.next_id + 5);
    const Observed a(rules, s, 0);
    const Observed b(rules, other, 0);
    REQUIRE(a.cells == b.cells);
    REQUIRE(a.units == b.units);
    REQUIRE(a.globals == b.globals);
    std::array<std::uint8_t, 9> ma{};
    std::array<std::uint8_t, 9> mb{};
    M::legal(rules, s, 0, ma.data());
    M::legal(rules, other, 0, mb.data());
    REQUIRE(ma == mb);
  });
  CHECK(hidden > 1000);
  CHECK(hit > 10);
}

TEST_CASE("minirts: what the mask rules out does nothing") {
  const M::Rules rules = M::make_rules({});
  std::array<int, 9> legal_count{};
  std::array<int, 9> illegal_count{};
  play<M>(rules, {{kRandomBot, kHitAndRunBot}, 25, 60000}, [&](const M::State& s) {
    std::array<std::uint8_t, 9> mask{};
    M::legal(rules, s, 0, mask.data());
    REQUIRE(mask[0] == 1);
    if (M::to_act(rules, s) == 0) return;
    const auto after = [&](std::int32_t a) {
      M::State t = s;
      M::act(rules, t, 0, {&a, 1});
      return M::hash(rules, t);
    };
    for (std::int32_t a = 1; a < 9; ++a) {
      if (mask[static_cast<std::size_t>(a)] != 0) {
        legal_count[static_cast<std::size_t>(a)] += after(a) != after(0) ? 1 : 0;
      } else {
        REQUIRE(after(a) == after(0));
        ++illegal_count[static_cast<std::size_t>(a)];
      }
    }
  });
  for (std::size_t a = 1; a < 9; ++a) {
    CHECK(legal_count[a] > 0);
    CHECK(illegal_count[a] > 0);
  }
}

TEST_CASE("minirts: a choice outside the head is refused") {
  check_refuses_what_is_outside<M>(rts::kActions, 4);
}

std::string refusal(const std::map<std::string, std::string>& params) {
  try {
    (void)M::make_rules(Params{params});
  } catch (const ParamError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("minirts: a wrong rulebook is refused with its fault") {
  const auto book = [](const char* text) { return refusal({{"rulebook", text}}); };
  CHECK(book("worker.cost=40\n# cheaper\n\nbullet.speed = 0.25 # faster") == "");
  CHECK(book("worker.cots=40") ==
        "minirts.rulebook line 1: unknown key 'worker.cots' (did you mean worker.cost?)");
  CHECK(book("\nworker.cost=-1") ==
        "minirts.rulebook line 2: worker.cost = '-1': expected an integer in [0, 1000000]");
  CHECK(book("worker.speed=fast") ==
        "minirts.rulebook line 1: worker.speed = 'fast': expected a number in [0, 0.5]");
  CHECK(book("worker.accepts=move,fly") ==
        "minirts.rulebook line 1: worker.accepts = 'move,fly': expected a comma-separated list of "
        "move attack gather build");
  CHECK(book("worker.cost") == "minirts.rulebook line 1: 'worker.cost': expected key=value");
  CHECK(book(std::string(70000, '#').c_str()) ==
        "minirts.rulebook: 70000 bytes: expected at most 65536");
  CHECK(refusal({{"ruleset", "elfs"}}).find("did you mean elf?") != std::string::npos);
}

TEST_CASE("minirts: a rulebook is printed as it is read") {
  M::Rules a = M::make_rules({});
  rts::apply_rulebook(a, "range_attacker.attack_range=7\nworker.builds=base\nbase.accepts=");
  CHECK(a.engine.type[rts::kRange].attack_range == 7);
  CHECK(a.engine.type[rts::kWorker].builds == 1U << rts::kBase);
  CHECK(a.engine.type[rts::kBase].accepts == 0);
  M::Rules b = M::make_rules({});
  rts::apply_rulebook(b, rts::print_rulebook(a));
  CHECK(rts::print_rulebook(b) == rts::print_rulebook(a));
}

TEST_CASE("minirts: start positions") {
  for (const char* start : {"random", "symmetric", "none"}) {
    for (const int side : {10, 20, 32}) {
      const M::Rules rules =
          M::make_rules(Params{{{"start_units", start}, {"map_size", std::to_string(side)}}});
      M::State s{};
      std::set<int> sizes;
      for (std::uint64_t m = 0; m < 200; ++m) {
        M::reset(rules, s, {.seed = 1, .match = m});
        sizes.insert(s.world.units[0] + s.world.units[1]);
        for (int seat = 0; seat < 2; ++seat) {
          CHECK(s.world.bases[seat] == 1);
          CHECK(s.world.money[seat] == 200);
        }
      }
      if (std::string(start) == "none") {
        CHECK(sizes == std::set<int>{4});
      } else {
        CHECK(sizes.size() > 4);
      }
    }
  }
}

TEST_CASE("minirts: the clean ruleset plays to an end") {
  const M::Rules rules = M::make_rules(Params{{{"ruleset", "clean"}}});
  M::State s{};
  int decided = 0;
  for (std::uint64_t m = 0; m < 20; ++m) {
    M::reset(rules, s, {.seed = 3, .match = m});
    while (!M::status(rules, s).over) {
      if (M::tick(s) % 50 == 0) {
        M::bot(rules, s, 0, kSimple);
        M::bot(rules, s, 1, kSimple);
      }
      M::advance(rules, s);
    }
    std::array<float, 2> result{};
    M::outcome(rules, s, result);
    CHECK(result[0] == -result[1]);
    decided += result[0] != 0.0F ? 1 : 0;
  }
  CHECK(decided >= 18);
}

}  // namespace
}  // namespace ludus
