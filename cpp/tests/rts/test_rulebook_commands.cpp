// The game `rts` below the strategic level: under `classic` it is MiniRTS, decision by decision;
// attack tables and walls; that it conforms.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "game/conformance.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/rulebook/rts.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/orders.hpp"

namespace ludus {
namespace {

using R = Rts;
using M = MiniRts;
using rts::Cmd;
using tests::Decision4;
using tests::Masks;

Params params_of(const char* commands, const char* book) {
  Params p;
  p.set("commands", commands);
  p.set("rulebook", book);
  return p;
}

// The choice of head 0 or 1 in `to` that has the label of the choice in `from`.
int same_label(const HeadSpec& from, int choice, const HeadSpec& to) {
  if (from.labels.empty()) return choice;
  const auto it = std::ranges::find(to.labels, from.labels[static_cast<std::size_t>(choice)]);
  return static_cast<int>(it - to.labels.begin());
}

std::uint64_t world_hash(const rts::EngineRules& engine, const rts::State& w) {
  Hash64 h;
  rts::hash_world(engine, w, h);
  return h.value();
}

TEST_CASE("rulebook commands: classic is MiniRTS on every level") {
  for (const char* commands : {"tactical", "units"}) {
    INFO(std::string(commands));
    Params p;
    p.set("commands", commands);
    Masks<M> mini(p);
    Masks<R> book(params_of(commands, "classic"));
    const bool tactical = std::string(commands) == "tactical";
    Rng rng({3, 3}, 0);
    M::State a{};
    R::State b{};
    long legal = 0;
    long decisions = 0;
    for (std::uint64_t match = 0; decisions < rounds(8000); ++match) {
      const MatchSeed seed{.seed = 12, .match = match};
      M::reset(mini.rules, a, seed);
      R::reset(book.rules, b, seed);
      while (!M::status(mini.rules, a).over && M::tick(a) < 4000 && decisions < rounds(8000)) {
        for (int seat = 0; M::tick(a) % 10 == 0 && M::to_act(mini.rules, a) != 0 && seat < 2;
             ++seat) {
          mini.look(a, seat);
          book.look(b, seat);
          // Groups have other names, in the same order.
          const auto in_book = [&](Decision4 d) {
            const std::size_t order = tactical ? 0 : 1;
            d[order] = same_label(mini.spec.heads[order], d[order], book.spec.heads[order]);
            return d;
          };
          for (int tries = 0; tries < 40; ++tries) {
            Decision4 d{};
            for (std::size_t h = 0; h < 4; ++h) {
              d[h] = static_cast<std::int32_t>(
                  rng.below(static_cast<std::uint32_t>(mini.spec.heads[h].size)));
            }
            REQUIRE(mini.allows(d) == book.allows(in_book(d)));
            legal += mini.allows(d) ? 1 : 0;
          }
          Decision4 d{};
          mini.layout.draw(mini.mask.data(), rng, d);
          REQUIRE(mini.takes(a, seat, d));
          REQUIRE(book.takes(b, seat, in_book(d)));
          ++decisions;
        }
        M::advance(mini.rules, a);
        R::advance(book.rules, b);
        REQUIRE(world_hash(mini.rules.engine, a.world) == world_hash(b.numbers.engine, b.world));
      }
    }
    CHECK(legal > rounds(2000));
  }
}

// Resources that can be hurt are gathered from, and never attacked.
constexpr const char* kTables = "extends=extended\nunits.resource.invulnerable=false";

TEST_CASE("rulebook commands: no unit is sent at an enemy that it cannot attack") {
  for (const char* commands : {"tactical", "units"}) {
    INFO(std::string(commands));
    Masks<R> masks(params_of(commands, kTables));
    const bool tactical = masks.rules.commands == rts::Commands::tactical;
    const auto& labels = masks.spec.heads[0].labels;
    const int focus_fire =
        static_cast<int>(std::ranges::find(labels, "focus_fire") - labels.begin());
    const rts::Book& book = masks.rules.book;
    const int resource = book.numbers.start_positions.resource;
    long attacks = 0;
    long forbidden = 0;
    long wrong = 0;
    int step = 0;
    // Matches between the rulebook's bots have troops of many types.
    R::State s{};
    for (std::uint64_t match = 0; match < 4; ++match) {
      R::reset(masks.rules, s, {.seed = 4, .match = match});
      while (!R::status(masks.rules, s).over && R::tick(s) < 9000) {
        if (R::tick(s) % 50 == 0) {
          R::bot(masks.rules, s, 0, static_cast<int>(match % 2));
          R::bot(masks.rules, s, 1, 1);
        }
        R::advance(masks.rules, s);
        if (++step % 411 != 0) continue;
        const rts::State& w = s.world;
        const rts::EngineRules& engine = s.numbers.engine;
        const int seat = step / 411 % 2;
        masks.look(s, seat);
        const std::uint64_t seen = rts::visible_units(engine, w, rts::sight_of(engine, w, seat));
        std::vector<int> rows;
        for (const bool mine : {true, false}) {
          for (int i = 0; i < rts::kSlots; ++i) {
            if ((seen >> i & 1) != 0 && (engine.owner_of(i) == seat) == mine) rows.push_back(i);
          }
        }
        const auto may = [&](int slot, int victim) {
          const rts::UnitType& type = engine.type[w.type[slot]];
          return type.takes(Cmd::attack) && engine.may_attack(w.type[slot], w.type[victim]);
        };
        const auto attempt = [&](const Decision4& d, bool expected) {
          R::State copy = s;
          const bool taken = masks.takes(copy, seat, d);
          wrong += taken != expected || masks.allows(d) != expected ? 1 : 0;
          attacks += taken ? 1 : 0;
          return copy;
        };
        const int own = w.units[static_cast<std::size_t>(seat)];
        for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
          const int victim = rows[static_cast<std::size_t>(row)];
          const bool enemy = engine.owner_of(victim) != seat && w.type[victim] != resource;
          for (int group = 0; tactical && group < 4; ++group) {
            bool somebody = false;
            for (int unit = 0; unit < own; ++unit) {
              const int slot = rows[static_cast<std::size_t>(unit)];
              const bool far = engine.type[w.type[slot]].attack_range > 1;
              const bool troop = (book.troops >> w.type[slot] & 1) != 0;
              const bool in = group == 0   ? (book.gatherers >> w.type[slot] & 1) != 0
                              : group == 1 ? troop && !far
                              : group == 2 ? troop && far
                                           : troop;
              somebody |= in && may(slot, victim);
              forbidden += in && enemy && !may(slot, victim) ? 1 : 0;
            }
            (void)attempt({focus_fire, group, row, 0}, enemy && somebody);
          }
          for (int unit = 0; !tactical && unit < own; ++unit) {
            const int slot = rows[static_cast<std::size_t>(unit)];
            const rts::UnitType& type = engine.type[w.type[slot]];
            const bool busy = type.building && w.cmd[slot] != Cmd::idle;
            const R::State after = attempt({unit, 1, row, 0}, !busy && enemy && may(slot, victim));
            forbidden += enemy && type.takes(Cmd::attack) && !may(slot, victim) ? 1 : 0;
            if (!busy && enemy && may(slot, victim)) {
              wrong += after.world.target[slot] != victim ? 1 : 0;
            }
            bool home = false;
            for (int i = 0; i < own; ++i) {
              home |= w.type[rows[static_cast<std::size_t>(i)]] == engine.base_type;
            }
            (void)attempt({unit, 2, row, 0},
                          type.takes(Cmd::gather) && home && w.type[victim] == resource);
          }
        }
      }
    }
    CHECK(attacks > 100);
    CHECK(forbidden > 20);
    CHECK(wrong == 0);
  }
}

TEST_CASE("rulebook commands: no unit is sent onto a wall") {
  Masks<R> masks(params_of("units",
                           "extends=extended\nmap.side=12\nmap.terrain="
                           "............,.0..........,..a.........,............,"
                           "............,xxxxxxxx.xxx,............,............,"
                           "............,.........b..,..........1.,............"));
  R::State s{};
  R::reset(masks.rules, s, {.seed = 1, .match = 0});
  const auto& names = masks.rules.book.names;
  const int spear =
      static_cast<int>(std::ranges::find(names, std::string("spearman")) - names.begin());
  const int slot = rts::add_unit(s.numbers.engine, s.world, 0, spear, 4, 7, 0);
  REQUIRE(slot > 0);
  masks.look(s, 0);
  const auto place = [&](const char* label) {
    const auto& labels = masks.spec.heads[3].labels;
    return static_cast<int>(std::ranges::find(labels, std::string(label)) - labels.begin());
  };
  for (const auto& [label, open] : {std::pair{"n2", false}, {"n4", true}, {"e2", true}}) {
    INFO(std::string(label));
    R::State copy = s;
    CHECK(masks.allows({slot, 0, 0, place(label)}) == open);
    CHECK(masks.takes(copy, 0, {slot, 0, 0, place(label)}) == open);
  }
}

TEST_CASE("rulebook commands: what the mask allows is taken, and the game conforms") {
  for (const char* commands : {"tactical", "units"}) {
    for (const char* book : {"extended", "classic"}) {
      const std::string context = std::string(commands) + " " + book;
      INFO(context);
      Masks<R> masks(params_of(commands, book));
      long wrong = 0;
      int step = 0;
      Rng rng({6, 6}, 0);
      CHECK_NOTHROW(masks.play(10, rounds(8000), [&](const R::State& s) {
        if (++step % 5 != 0) return;
        const int seat = step % 2;
        masks.look(s, seat);
        for (int tries = 0; tries < 60; ++tries) {
          Decision4 d{};
          for (std::size_t h = 0; h < 4; ++h) {
            d[h] = static_cast<std::int32_t>(
                rng.below(static_cast<std::uint32_t>(masks.spec.heads[h].size)));
          }
          R::State copy = s;
          wrong += masks.takes(copy, seat, d) != masks.allows(d) ? 1 : 0;
        }
      }));
      CHECK(wrong == 0);
      Conformance<R> c(params_of(commands, book), 3, 1000);
      const Findings& f = c.run(2);
      INFO(f.json());
      CHECK(f.clean());
    }
  }
}

}  // namespace
}  // namespace ludus
