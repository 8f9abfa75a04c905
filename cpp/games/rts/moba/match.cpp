// The life of a match: its start, its ticks and its end.
#include <algorithm>

#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/moba/abilities.hpp"
#include "games/rts/moba/economy.hpp"
#include "games/rts/moba/think.hpp"

namespace ludus::rts {

namespace {

constexpr std::uint64_t kStream = 1;
constexpr int kPlacesToEnter = 25;
constexpr int kEnterAbreast = 5;
constexpr float kEnterApart = 0.8F;

int draw(Rng& rng, const Drawn3& d) {
  if (d.low == d.high) return d.low;
  return d.low + static_cast<int>(rng.below(static_cast<std::uint32_t>(d.high - d.low + 1)));
}

// Standing of a hero as it pays: hit points as the paper weighs them, and mana.
struct Standing {
  std::int16_t hp = 0, mana = 0;
  std::uint8_t level = 0, tier = 0;  // level 0: it is dead

  bool operator==(const Standing&) const = default;
  [[nodiscard]] float health(const MobaRules& rules, int hero_class) const {
    if (level == 0) return 0.0F;
    const float x = static_cast<float>(std::max<int>(hp, 0)) /
                    static_cast<float>(rules.max_hp(hero_class, level, tier));
    const float lost = (1.0F - x) * (1.0F - x);
    return (x + 1.0F - lost * lost) * 0.5F;
  }
  [[nodiscard]] float magic(const MobaRules& rules, int hero_class) const {
    const int most = level == 0 ? 0 : rules.max_mana(hero_class, level);
    return most == 0 ? 0.0F : static_cast<float>(mana) / static_cast<float>(most);
  }
};

Standing standing(const MobaWorld& w, const Hero& h) {
  if (!h.alive()) return {};
  return {w.world.hp[h.slot], h.mana, h.level, h.tier};
}

// The reward of a change of a hero's standing.
float worth_of_change(const MobaRules& rules, const Hero& h, const Standing& before,
                      const Standing& after) {
  if (before == after) return 0.0F;
  const int k = h.hero_class;
  return rules.reward.hp * (after.health(rules, k) - before.health(rules, k)) +
         rules.reward.mana * (after.magic(rules, k) - before.magic(rules, k));
}

int standing_hp(const MobaRules& rules, const State& s, int team) {
  int hp = 0;
  for_units(rules.engine, s, team, [&](int i) {
    if (is_building(s.type[i])) hp += s.hp[i];
  });
  return hp;
}

// Who has won at the tick limit, or when both ancients fall in one tick: by the buildings, then by
// net worth.
int stronger(const MobaRules& rules, const MobaWorld& w) {
  const int hp = standing_hp(rules, w.world, 0) - standing_hp(rules, w.world, 1);
  if (hp != 0) return hp > 0 ? 0 : 1;
  int worth = 0;
  for (int seat = 0; seat < rules.seats(); ++seat) {
    const int own = w.hero[static_cast<std::size_t>(seat)].worth();
    worth += rules.team_of(seat) == 0 ? own : -own;
  }
  return worth == 0 ? -1 : (worth > 0 ? 0 : 1);
}

void bring_back(const MobaRules& rules, MobaWorld& w) {
  for (int seat = 0; seat < rules.seats(); ++seat) {
    Hero& h = w.hero[static_cast<std::size_t>(seat)];
    if (h.alive() || w.world.tick < h.back_at) continue;
    enter(rules, w, seat);
  }
}

}  // namespace

bool enter(const MobaRules& rules, MobaWorld& w, int seat) {
  Hero& h = w.hero[static_cast<std::size_t>(seat)];
  const int team = rules.team_of(seat);
  for (int n = 0; n < kPlacesToEnter; ++n) {
    const int k = (n + seat % rules.heroes) % kPlacesToEnter;
    const float x = kFountainX + kEnterApart * static_cast<float>(k / kEnterAbreast);
    const float y =
        rules.lane() + kEnterApart * static_cast<float>(k % kEnterAbreast - kEnterAbreast / 2);
    const int slot =
        add_unit(rules.engine, w.world, team, hero_type(h.hero_class, h.tier),
                 rules.seen(w.world, team, x), rules.seen(w.world, team, y), w.world.tick);
    if (slot < 0) continue;
    h.slot = static_cast<std::uint8_t>(slot);
    h.id = w.world.id[slot];
    h.back_at = 0;
    h.mana = static_cast<std::int16_t>(max_mana(rules, h));
    w.world.hp[slot] = static_cast<std::int16_t>(max_hp(rules, h));
    return true;
  }
  return false;
}

void find_slots(const MobaRules& rules, MobaWorld& w) {
  for (int seat = 0; seat < rules.seats(); ++seat) {
    Hero& h = w.hero[static_cast<std::size_t>(seat)];
    if (!h.alive()) continue;
    h.slot = static_cast<std::uint8_t>(slot_of(rules, w.world, rules.team_of(seat), h.id));
  }
}

void place_moba_start(const MobaRules& rules, MobaWorld& w, MatchSeed seed) {
  State& s = w.world;
  const EngineRules& engine = rules.engine;
  clear_state(engine, s);
  w.rng = Rng(seed, kStream);
  w.hero = {};
  w.earned = {};
  const int half = engine.side / 2;
  for (int y = 0; y < engine.side; ++y) {
    const bool open = y >= half - rules.half_width && y < half + rules.half_width;
    s.wall[static_cast<std::size_t>(y)] = open ? 0U : ~std::uint32_t{0};
  }
  draw_turn(engine, s, w.rng);
  const int level = draw(w.rng, rules.start_level);
  const int gold = draw(w.rng, rules.start_gold);
  const auto classes = line_up(draw(w.rng, rules.line_up));
  for (int team = 0; team < kTeams; ++team) {
    const auto put = [&](int type, float x, float y) {
      add_unit(engine, s, team, type, rules.seen(s, team, x), rules.seen(s, team, y), 0);
    };
    put(kAncient, kAncientX, rules.lane());
    for (const float x : kTowerX) put(kLaneTower, x, rules.lane() + kTowerBeside);
    for (int n = 0; n < rules.heroes; ++n) {
      const int seat = team * rules.heroes + n;
      Hero& h = w.hero[static_cast<std::size_t>(seat)];
      h.hero_class = classes[static_cast<std::size_t>(n)];
      h.level = static_cast<std::uint8_t>(level);
      h.gold = gold;
      enter(rules, w, seat);
    }
  }
}

void advance_moba(const MobaRules& rules, MobaWorld& w) {
  State& s = w.world;
  w.earned.fill(0.0F);
  if (s.over) return;
  draw_tie_breaks(rules.engine, s, w.rng);
  send_creeps(rules, w);
  bring_back(rules, w);
  std::array<Standing, kTeams * kMaxHeroes> before;
  for (int seat = 0; seat < rules.seats(); ++seat) {
    const auto k = static_cast<std::size_t>(seat);
    before[k] = standing(w, w.hero[k]);
  }
  TickEvents events;
  cast_all(rules, w, events);
  think(rules, w);
  const float decay = rules.decayed(s.tick);
  // No path is searched, so there is nothing that a search could learn.
  advance_tick(rules.engine, s, HeuristicStore{s.heuristic.data(), &s.heuristic_size, 0, nullptr},
               &events);
  settle(rules, w, events);
  upkeep(rules, w);
  for (int seat = 0; seat < rules.seats(); ++seat) {
    const auto k = static_cast<std::size_t>(seat);
    w.earned[k] += worth_of_change(rules, w.hero[k], before[k], standing(w, w.hero[k]));
    w.earned[k] *= decay;
  }
  if (!s.over) return;
  if (s.winner < 0) s.winner = static_cast<std::int8_t>(stronger(rules, w));
  if (s.winner < 0) return;
  for (int seat = 0; seat < rules.seats(); ++seat) {
    w.earned[static_cast<std::size_t>(seat)] +=
        rules.team_of(seat) == s.winner ? rules.reward.win : rules.reward.loss;
  }
}

}  // namespace ludus::rts
