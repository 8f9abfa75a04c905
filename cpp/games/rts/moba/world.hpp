// A match of the MOBA: the engine's world, and what the game remembers of its heroes.
#pragma once

#include "base/rng.hpp"
#include "games/rts/engine/events.hpp"
#include "games/rts/moba/rules.hpp"

namespace ludus::rts {

// The order that a hero follows until it gets another one.
enum class Goal : std::uint8_t { none, move, attack, home };

// A hero is a seat: of team 0 first. Times are ticks; 0 where there is none.
struct Hero {
  std::int32_t gold = 0, spent = 0, xp = 0;  // xp: since the last level
  float goal_x = 0.0F, goal_y = 0.0F;
  float cast_x = 0.0F, cast_y = 0.0F;
  std::uint16_t id = 0;       // running number of its unit
  std::uint16_t back_at = 0;  // when a dead hero comes back
  std::uint16_t goal_id = 0;  // the unit that it attacks
  std::uint16_t cast_id = 0;  // the unit that it casts at
  std::uint16_t stunned_until = 0, slowed_until = 0;
  std::uint16_t hit_hero_until = 0;  // towers remember that it hit a hero until then
  std::int16_t mana = 0;
  std::uint16_t kills = 0, deaths = 0, helps = 0, last_hits = 0;
  std::array<std::uint16_t, kAbilities> ready{};          // when each ability is ready again
  std::array<std::uint16_t, kMaxHeroes> hurt_by_until{};  // an enemy hero helps a kill until then
  Goal goal = Goal::none;
  std::uint8_t hero_class = 0, level = 1, tier = 0;
  std::uint8_t cast = 0;      // 1 + the ability that it casts in the next tick
  std::uint8_t slow = 0;      // percent
  std::uint8_t slot = kNone;  // of its unit, kNone while it is dead

  [[nodiscard]] bool alive() const { return slot != kNone; }
  [[nodiscard]] int worth() const { return gold + spent; }
};

struct MobaWorld {
  State world;
  Rng rng;  // the start, tie-breaks, then the bot `random`
  std::array<Hero, kTeams * kMaxHeroes> hero;
  std::array<float, kTeams * kMaxHeroes> earned;  // in the last tick
};

[[nodiscard]] inline int max_hp(const MobaRules& rules, const Hero& h) {
  return rules.max_hp(h.hero_class, h.level, h.tier);
}
[[nodiscard]] inline int max_mana(const MobaRules& rules, const Hero& h) {
  return rules.max_mana(h.hero_class, h.level);
}
// Of any unit; a hero's depends on its level.
[[nodiscard]] int max_hp_of(const MobaRules& rules, const MobaWorld& w, int slot);

// The hero whose unit has the number, or -1.
[[nodiscard]] inline int hero_of(const MobaRules& rules, const MobaWorld& w, int id) {
  for (int h = 0; h < rules.seats(); ++h) {
    const Hero& hero = w.hero[static_cast<std::size_t>(h)];
    if (hero.alive() && hero.id == id) return h;
  }
  return -1;
}
// The slot of a team's unit by its number, or kNone.
[[nodiscard]] inline int slot_of(const MobaRules& rules, const State& s, int team, int id) {
  const int first = rules.engine.first_slot[static_cast<std::size_t>(team)];
  const int last = first + s.units[static_cast<std::size_t>(team)];
  for (int i = first; i < last; ++i) {
    if (s.id[static_cast<std::size_t>(i)] == id) return i;
  }
  return kNone;
}

// The tick so many ticks from now.
[[nodiscard]] inline std::uint16_t later(const State& s, int ticks) {
  return static_cast<std::uint16_t>(std::min(static_cast<int>(s.tick) + ticks, 65535));
}

[[nodiscard]] inline bool stunned(const MobaWorld& w, const Hero& h) {
  return h.stunned_until > w.world.tick;
}
[[nodiscard]] inline bool at_fountain(const MobaRules& rules, const MobaWorld& w, int seat) {
  const Hero& h = w.hero[static_cast<std::size_t>(seat)];
  if (!h.alive()) return false;
  const int team = rules.team_of(seat);
  const float x = rules.seen(w.world, team, w.world.x[h.slot]);
  const float y = rules.seen(w.world, team, w.world.y[h.slot]);
  return distance2(x, y, kFountainX, rules.lane()) <= rules.fountain.radius * rules.fountain.radius;
}

// Fills `w` with a fresh match at tick 0.
void place_moba_start(const MobaRules& rules, MobaWorld& w, MatchSeed seed);

// One tick.
void advance_moba(const MobaRules& rules, MobaWorld& w);

// Where a hero comes to the map; false: no place is free now.
bool enter(const MobaRules& rules, MobaWorld& w, int seat);

// After units went: where heroes stand now.
void find_slots(const MobaRules& rules, MobaWorld& w);

}  // namespace ludus::rts
