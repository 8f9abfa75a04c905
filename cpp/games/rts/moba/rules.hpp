// MOBA: its unit types, its rules, and how they are read from parameters and a rulebook.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "game/params.hpp"
#include "games/rts/engine/map.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kTeams = 2;
inline constexpr int kMaxHeroes = 3;  // of a team
inline constexpr int kClasses = 3;
inline constexpr int kTiers = 4;      // of a class: what gold buys, one unit type each
inline constexpr int kAbilities = 2;  // of a class
inline constexpr int kMaxLevel = 10;
inline constexpr int kTowers = 2;  // of a team, from its ancient outwards
inline constexpr int kLineUps = 6;

// Unit types. A hero's type stands for its class and its tier.
enum MobaType : std::uint8_t {
  kAncient,
  kLaneTower,
  kMeleeCreep,
  kRangedCreep,
  kFirstHero,
  kMobaTypes = kFirstHero + kClasses * kTiers
};
static_assert(kMobaTypes <= kMaxTypes);
enum HeroClass : std::uint8_t { kCarry, kTank, kSupport };
inline constexpr std::array<const char*, kClasses> kClassNames = {"carry", "tank", "support"};

[[nodiscard]] constexpr bool is_hero(int type) { return type >= kFirstHero; }
[[nodiscard]] constexpr bool is_creep(int type) {
  return type == kMeleeCreep || type == kRangedCreep;
}
[[nodiscard]] constexpr bool is_building(int type) { return type <= kLaneTower; }
[[nodiscard]] constexpr int hero_type(int hero_class, int tier) {
  return kFirstHero + hero_class * kTiers + tier;
}

enum class AbilityKind : std::uint8_t { strike, around, heal, stun, slow, dash };
inline constexpr int kAbilityKinds = 6;
inline constexpr std::array<const char*, kAbilityKinds> kAbilityNames = {
    "strike", "around", "heal", "stun", "slow", "dash"};

struct AbilityRules {
  AbilityKind kind = AbilityKind::strike;
  std::uint8_t kind_number = 0;             // as the rulebook writes it
  std::int32_t mana = 0, cooldown = 1;      // ticks
  float range = 0.0F;                       // cells; of around: the radius
  std::int32_t power = 0, power_level = 0;  // hit points; and more with each level above the first
  std::int32_t ticks = 0;                   // how long a stun or a slow lasts
  std::int32_t slow = 0;                    // percent of the speed that a slow takes

  [[nodiscard]] int strength(int level) const { return power + power_level * (level - 1); }
};

struct ClassRules {
  std::int32_t hp = 1, hp_level = 0, hp_tier = 0;
  std::int32_t mana = 0, mana_level = 0;
  std::int32_t regen_hp = 0, regen_mana = 0;  // in every `regen.every` ticks
  std::int32_t attack = 0, attack_tier = 0;
  std::array<AbilityRules, kAbilities> ability;
};

struct MobaRewards {
  float win = 0.0F, loss = 0.0F;
  float gold = 0.0F, xp = 0.0F;  // for each
  float hp = 0.0F, mana = 0.0F;  // for a whole share: of f(x) = (x + 1 - (1 - x)^4) / 2; of mana
  float kill = 0.0F, death = 0.0F, last_hit = 0.0F;
  float tower = 0.0F, ancient = 0.0F;  // two thirds with the damage, a third when it falls
  float decay = 1.0F;
  std::int32_t decay_ticks = 1;
};

// Numbers that a match may draw: from low to high.
struct Drawn3 {
  std::int32_t low = 0, high = 0;
};

struct MobaRules {
  EngineRules engine;
  int heroes = 3;  // of a team
  std::array<ClassRules, kClasses> hero;
  Drawn3 start_level{1, 1}, start_gold, line_up;

  std::int32_t half_width = 5;  // rows of the lane on either side of its middle
  float notice = 6.0F;          // cells at which creeps and towers look for a target
  std::int32_t think = 5;       // ticks between two looks
  std::int32_t aggro = 30;      // ticks for which a tower remembers who hit a hero beside it

  struct {
    std::int32_t first = 1, every = 300, melee = 2, ranged = 1, grow_every = 0, fallen = 0;
  } waves;
  struct {
    std::int32_t creep = 0, ranged = 0, kill = 0, kill_level = 0, helpers = 0;
    std::int32_t help_ticks = 0, tower = 0, passive = 0, passive_every = 1;
  } gold;
  struct {
    float radius = 6.0F;
    std::int32_t creep = 0, ranged = 0, kill = 0, kill_level = 0, first = 1, grow = 0;
  } xp;
  struct {
    std::int32_t base = 1, level = 0;
  } respawn;
  struct {
    std::int32_t every = 10;
  } regen;
  struct {
    float radius = 4.0F;
    std::int32_t hp = 0, mana = 0;  // in every `regen.every` ticks
  } fountain;
  std::array<std::int32_t, kTiers - 1> tier_cost{};
  struct {
    std::int32_t tick = 0, every = 1, loss = 0, creeps = 0, rush = 0;
  } late;
  struct {
    std::int32_t creep = 100, hero = 100;  // percent of the damage that buildings take
  } siege;
  MobaRewards reward;

  [[nodiscard]] int seats() const { return kTeams * heroes; }
  [[nodiscard]] int team_of(int seat) const { return seat / heroes; }
  [[nodiscard]] int max_hp(int hero_class, int level, int tier) const {
    const ClassRules& c = hero[static_cast<std::size_t>(hero_class)];
    return c.hp + c.hp_level * (level - 1) + c.hp_tier * tier;
  }
  [[nodiscard]] int max_mana(int hero_class, int level) const {
    const ClassRules& c = hero[static_cast<std::size_t>(hero_class)];
    return c.mana + c.mana_level * (level - 1);
  }
  // Experience from this level to the next.
  [[nodiscard]] int to_next(int level) const { return xp.first + xp.grow * (level - 1); }
  [[nodiscard]] int respawn_ticks(int level) const {
    return respawn.base + respawn.level * (level - 1);
  }
  // The factor by which rewards other than the final ones shrink with time: a power of `decay`,
  // linear between multiples of `decay_ticks`.
  [[nodiscard]] float decayed(std::uint32_t tick) const;

  // Whether the team stands at the right and sees the map turned by half a turn.
  [[nodiscard]] static bool turned(const State& s, int team) { return (team == 1) != s.turned; }
  // A coordinate as the team sees it; and back.
  [[nodiscard]] float seen(const State& s, int team, float v) const {
    return turned(s, team) ? static_cast<float>(engine.side - 1) - v : v;
  }
  // The row along which a team walks, as it sees the map: a little beside the middle, as the middle
  // itself lies on the border of two cells, and rounding would favour a side.
  [[nodiscard]] float lane() const { return static_cast<float>(engine.side - 1) * 0.5F + 0.25F; }
};

// Places as a team at the left sees them.
inline constexpr float kFountainX = 1.0F;
inline constexpr float kAncientX = 3.0F;
inline constexpr std::array<float, kTowers> kTowerX = {7.0F, 12.0F};
inline constexpr float kTowerBeside = 2.0F;  // rows from the lane

// Classes in the order of the seats of a team, by the number of the line-up.
[[nodiscard]] constexpr std::array<std::uint8_t, kMaxHeroes> line_up(int number) {
  constexpr std::array<std::array<std::uint8_t, kMaxHeroes>, kLineUps> kOrders = {{
      {kCarry, kTank, kSupport},
      {kCarry, kSupport, kTank},
      {kTank, kCarry, kSupport},
      {kTank, kSupport, kCarry},
      {kSupport, kCarry, kTank},
      {kSupport, kTank, kCarry},
  }};
  return kOrders[static_cast<std::size_t>(number)];
}

[[nodiscard]] std::vector<ParamSpec> moba_params();

// Throws ParamError.
[[nodiscard]] MobaRules make_moba_rules(const Params& params);

// Every key and value of the rules, one a line, as the parameter `rulebook` takes them.
[[nodiscard]] std::string print_moba_rules(const MobaRules& rules);

// JSON schema of a rulebook in TOML.
[[nodiscard]] std::string moba_schema();

}  // namespace ludus::rts
