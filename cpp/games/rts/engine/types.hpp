// The RTS engine's vocabulary: what a unit type is, what the engine's rules are, and the state of
// one match. Nothing here knows which game is played: unit tables, permissions and numbers are
// data in EngineRules; a game adds its start position, decisions and end of match.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ludus::rts {

inline constexpr int kSlots = 64;     // units alive at once, all owners together
inline constexpr int kMaxOwners = 3;  // two seats, and a neutral owner where a game needs one
inline constexpr int kMaxSide = 32;   // cells along one side of the map
inline constexpr int kWideBits = 5;   // a wide cell number is y * kMaxSide + x
inline constexpr int kBuckets = 32;   // of the uniform grid, half a cell wide, wrapping around
inline constexpr int kMaxTypes = 16;
inline constexpr int kMaxBullets = 48;
inline constexpr int kMaxCounters = 32;      // counter-attacks waiting for the next tick
inline constexpr std::uint8_t kNone = 255;   // no slot: absent, or gone
inline constexpr float kParked = 1.0e9F;     // coordinates of an empty slot: collides with nothing
inline constexpr int kMaxPixels = 8;         // of a cell along one axis in a picture
inline constexpr int kMaxTickLimit = 60000;  // ticks are kept in 16 bits

// Wide cell numbers.
[[nodiscard]] constexpr int wide(int cx, int cy) { return cy << kWideBits | cx; }
[[nodiscard]] constexpr int wide_x(int cell) { return cell & (kMaxSide - 1); }
[[nodiscard]] constexpr int wide_y(int cell) { return cell >> kWideBits; }

enum Cooldown : std::uint8_t { kCdMove, kCdAttack, kCdGather, kCdBuild, kCooldowns };

// Durative commands. A unit has at most one; idle is the bots' test for "may be given work".
enum class Cmd : std::uint8_t {
  idle,
  move,
  attack,
  gather,
  build,
  get_flag,     // fetch the flag that lies about
  escort_flag,  // bring the flag that the unit carries to its own base
  build_tower,  // pay and place something at once, anywhere on the map
};
inline constexpr int kCmds = 8;
inline constexpr int kEconomyCmds = 5;  // commands of a game without flags and towers come first
inline constexpr std::array<const char*, kCmds> kCmdNames = {
    "idle", "move", "attack", "gather", "build", "get_flag", "escort_flag", "build_tower"};

enum GatherPhase : std::uint8_t { kToResource, kGathering, kToBase };
enum BuildPhase : std::uint8_t { kToPlace, kBuilding };

struct UnitType {
  std::int32_t cost = 0, hp = 1, defence = 0, attack = 0, attack_range = 0, vision = 0;
  float speed = 0.0F;  // cells a tick
  std::array<std::int32_t, kCooldowns> cooldown{};
  bool building = false;      // ignores orders while it has one, if the rules say so
  bool on_walls = false;      // stands on impassable cells, and only there
  bool invulnerable = false;  // honoured by the ruleset "clean" only
  std::uint16_t accepts = 0;  // bit c: takes orders of kind Cmd(c)
  std::uint16_t builds = 0;   // bit t: may build type t (ruleset "clean" checks it)

  [[nodiscard]] bool takes(Cmd c) const { return (accepts >> static_cast<int>(c) & 1) != 0; }
};

// Behaviour of the original that looks unintended, one switch each. The ruleset "elf" has all of
// them.
struct Quirks {
  bool integer_range = true;      // attack range is compared with d^2 truncated to an integer
  bool repeated_counters = true;  // every hit on an idle unit queues one more counter-attack
  bool learned_paths = true;      // path search has a learned heuristic
  bool wrapped_target = true;     // path search may reach its target across the map's edge
  bool loose_builds = true;       // no check that a type may build what it is ordered to
  bool hurts_invulnerable = true;
  bool congestion_guard = true;  // too many failed moves end the match without a winner
  bool loose_edges = true;       // coordinates in (-1.5, -0.5) count as cell 0
  bool baseless_play = true;     // when both last bases fall in one tick the match continues
  bool lost_flags = true;        // a flag that finds its place taken is gone, fetching continues
  bool lost_revivals = true;     // a base ordered to revive twice at once revives one
  bool stubborn_towers = true;   // what cannot move keeps a target that has gone out of range
  bool seat_order = true;        // seat 0 comes before seat 1, left before right; else by lot
};

// The ruleset "clean": none of them.
[[nodiscard]] constexpr Quirks clean_quirks() {
  return {.integer_range = false,
          .repeated_counters = false,
          .learned_paths = false,
          .wrapped_target = false,
          .loose_builds = false,
          .hurts_invulnerable = false,
          .congestion_guard = false,
          .loose_edges = false,
          .baseless_play = false,
          .lost_flags = false,
          .lost_revivals = false,
          .stubborn_towers = false,
          .seat_order = false};
}

// A flag, carried home for a point. A separate owner holds it.
struct FlagRules {
  int type = -1;        // unit type of the flag; -1: the game has none
  int to_win = 5;       // points
  float reach2 = 0.5F;  // squared distance at which it is picked up or delivered
  float slows = 3.0F;   // a carrier's speed is divided by it
  float home_x = 9.0F;  // where it comes back after a point: this column, in row home_y plus one of
  int home_y = 5;       // State::flag_row
  int home_rows = 10;
};
inline constexpr int kFlagOwner = 2;

// Units of these types come back next to their base some time after they died.
struct ReviveRules {
  std::uint8_t types = 0;  // bit t
  int as = 0;              // the type they come back as
  int ticks = 100;
};

// Units that appear out of nothing, row by row from a corner of a square, when the game asks for
// them.
struct WaveRules {
  int type = 0, owner = 1;
  int x = 15, y = 15, columns = 5;
};

// Damage of one type's attack to another, in percent of its attack; 0: it cannot attack it.
struct AttackTable {
  std::array<std::array<std::uint16_t, kMaxTypes>, kMaxTypes> percent;

  AttackTable() {
    for (auto& row : percent) row.fill(100);
  }
};

struct EngineRules {
  int side = 20;  // cells along one side of the square map
  int types = 0;
  std::array<UnitType, kMaxTypes> type{};
  int base_type = 0;        // who alone still owns units of this type has won
  std::uint16_t vital = 0;  // bit t: further types that count as this one
  AttackTable attacks;
  std::uint32_t tick_limit = 30000;
  float bullet_speed = 0.2F;
  float bullet_hit = 0.3F;  // distance at which a bullet hits
  int gather_amount = 5;
  int path_cache_ticks = 10;
  bool terrain = false;         // cells may be impassable (State::wall)
  bool finish_building = true;  // a busy building ignores orders
  int kill_reward = 0;          // money for a kill, to the owner of an invulnerable killer
  int limit_winner = -1;        // who has won when time is up
  FlagRules flag;
  ReviveRules revive;
  WaveRules wave;
  Quirks quirks;
  std::array<std::uint8_t, kMaxOwners + 1> first_slot{0, 32, 64, 64};  // slots of each owner

  [[nodiscard]] int cells() const { return side * side; }
  [[nodiscard]] int owner_of(int slot) const {
    return slot < first_slot[1] ? 0 : (slot < first_slot[2] ? 1 : 2);
  }
  [[nodiscard]] int capacity(int owner) const { return first_slot[owner + 1] - first_slot[owner]; }
  [[nodiscard]] bool is_vital(int t) const { return t == base_type || (vital >> t & 1) != 0; }
  // Before the target's defence.
  [[nodiscard]] int damage(int attacker, int victim) const {
    return std::min(30000, type[attacker].attack * attacks.percent[attacker][victim] / 100);
  }
  // Whether a unit of the type strikes at a squared distance.
  [[nodiscard]] bool reaches(const UnitType& t, float d2) const {
    const auto reach2 = static_cast<float>(t.attack_range * t.attack_range);
    return (quirks.integer_range ? static_cast<float>(static_cast<int>(d2)) : d2) <= reach2;
  }
  [[nodiscard]] bool may_attack(int attacker, int victim) const {
    return attacks.percent[attacker][victim] != 0;
  }
};

enum class BulletState : std::uint8_t { ready, explode1, explode2, explode3, done };

// A hit on an idle unit: the unit will strike back, from the next tick on.
struct Counter {
  std::uint8_t unit, target;
};

// An entry of the path planner's waypoint cache.
struct CachedWaypoint {
  std::uint32_t key;      // owner, start cell, target cell
  std::uint16_t tick;     // when it was computed
  std::int16_t waypoint;  // cell (wide) to head for, or -1: straight to the target
};
inline constexpr int kCachedWaypoints = 64;
inline constexpr int kFailedSearchBits = 4;

// A unit that will respawn at its owner's base.
struct Revival {
  std::uint16_t tick;  // when the base starts with it
  std::uint8_t owner;
};
inline constexpr int kMaxRevivals = 16;
inline constexpr int kFlagRows = 8;

// Capacity of the learned heuristic: one match in a hundred needs more and evicts entries
// (engine/learned_heuristic.hpp).
inline constexpr int kHeuristicEntries = 1024;

// One match. Slots of an owner are contiguous from first_slot[owner], in rising unit id: iterating
// slots upwards is iterating ids upwards. A slot number is a reference that the engine keeps right:
// when a unit goes, references to it become kNone and higher slots of its owner move down by one.
struct State {
  std::uint32_t tick = 0;
  std::uint64_t fresh = 0;       // slots whose order was given in this tick and has not run yet
  std::uint64_t irregular = 0;   // slots outside the rectangle of the original's spatial hash
  std::uint64_t carrying = 0;    // slots that have the flag
  std::uint64_t tie_breaks = 0;  // two bits for each of 32 ticks (engine/tie_breaks.hpp)
  std::array<std::int32_t, kMaxOwners> money{};
  std::uint16_t next_id = 0;  // running number of the next unit
  std::int8_t winner = -1;
  bool over = false, congested = false;
  std::array<std::uint8_t, kMaxOwners> units{};  // alive, by owner
  std::array<std::uint8_t, kMaxOwners> bases{};  // of vital types
  std::uint8_t running = 0;                      // entries of run_order
  std::uint8_t running_first = 0;                // of these, at its front, owner 0's; by lot only
  std::uint8_t bullets = 0;
  std::uint8_t counters = 0;
  std::uint8_t waypoint_head = 0, waypoint_count = 0;  // ring buffer, oldest first
  std::uint16_t groups_of_4 = 0;  // bit k: some unit has one of the slots 4k .. 4k + 3
  std::uint8_t wave = 0;          // units that appear in this tick, as the game asked
  std::uint8_t revivals = 0;
  std::uint8_t flag_rows = 0;  // entries of flag_row that are left
  bool flag_falls = false;     // a flag appears at (flag_x, flag_y) in this tick
  bool turned = false;         // the seats have changed places (engine/tie_breaks.hpp)
  float flag_x = 0.0F, flag_y = 0.0F;

  // Uniform grid (map.hpp): buckets of columns and of rows, a bit per slot; the first two are
  // repeated at the end. Updated with x and y.
  std::array<std::uint64_t, kBuckets + 2> column{}, row{};

  alignas(16) std::array<float, kSlots> x{}, y{};
  std::array<float, kSlots> speed{};  // cells a tick
  std::array<std::int16_t, kSlots> hp{};
  std::array<std::uint8_t, kSlots> type{};
  std::array<std::uint8_t, kSlots> damaged_by{};
  std::array<std::uint16_t, kSlots> id{};                            // running number
  std::array<std::uint16_t, kSlots> built{};                         // tick of creation
  std::array<std::array<std::uint16_t, kSlots>, kCooldowns> last{};  // tick a cooldown started

  // The durative command of each unit.
  std::array<Cmd, kSlots> cmd{};
  std::array<std::uint8_t, kSlots> phase{};
  std::array<std::uint8_t, kSlots> target{};     // attack: victim; gather: base; build: unit type
  std::array<std::uint8_t, kSlots> source{};     // gather: resource; build: 1 = "nearby"
  std::array<std::uint16_t, kSlots> start{};     // tick of issue
  std::array<float, kSlots> px{}, py{};          // move, build: where
  std::array<std::uint8_t, kSlots> run_order{};  // slots with a command, in order of execution

  std::array<float, kMaxBullets> bullet_x{}, bullet_y{};
  std::array<std::int16_t, kMaxBullets> bullet_damage{};   // before the target's defence
  std::array<std::uint8_t, kMaxBullets> bullet_shooter{};  // slot, or kNone when it died
  std::array<std::uint8_t, kMaxBullets> bullet_target{};
  std::array<BulletState, kMaxBullets> bullet_state{};
  std::array<Counter, kMaxCounters> counter{};
  std::array<std::uint8_t, 32> failed{};        // failed moves by tick mod 32
  std::array<Revival, kMaxRevivals> revival{};  // in the order of their ticks
  // Rows in which the flag is to come back, next one last; those that are taken are passed over.
  // The game deals them, so that the engine needs no random numbers.
  std::array<std::uint8_t, kFlagRows> flag_row{};
  std::array<CachedWaypoint, kCachedWaypoints> waypoints{};
  std::array<std::uint8_t, kSlots> waypoint_hint{};  // ring index of each unit's last answer
  std::array<std::uint32_t, kMaxSide> wall{};        // bit x of row y: the cell is impassable

  // The fields from here on are read by path search only.
  // Failed-search cache: start, target and the blocked cells that cut them off (path_caches.hpp).
  std::array<std::uint64_t, 1 << kFailedSearchBits> failed_searches{};
  std::uint16_t heuristic_size = 0;
  std::array<std::uint32_t, kHeuristicEntries> heuristic{};  // learned_heuristic.hpp
};

// Copies what is in use; beyond `heuristic_size` the entries of `to` are whatever they were.
inline void copy_world(State& to, const State& from) {
  std::memcpy(static_cast<void*>(&to), &from,
              offsetof(State, heuristic) + from.heuristic_size * sizeof(State::heuristic[0]));
}

struct PathCache;
struct HeuristicTables;

// Where the learned heuristic of a match is stored: in its State, or in a larger store of a game
// whose matches learn more values. `capacity` is a multiple of 8.
struct HeuristicStore {
  std::uint32_t* entry;
  std::uint16_t* size;
  int capacity;
  HeuristicTables* tables;  // engine/learned_heuristic.hpp
  // A large store links the entries of an owner and a target as a chain, by their index plus 1: the
  // last one in `last` (kHeuristicChains of them), the one before it in `before`. Both may be null.
  std::uint16_t* last = nullptr;
  std::uint16_t* before = nullptr;
  PathCache* path_cache = nullptr;  // engine/path_cache.hpp; may be null
};
inline constexpr int kHeuristicChains = 1024;
[[nodiscard]] inline HeuristicStore own_store(State& state, HeuristicTables& tables) {
  return {state.heuristic.data(), &state.heuristic_size, kHeuristicEntries, &tables};
}

// The order a caller gives to one unit.
struct Order {
  Cmd cmd = Cmd::idle;
  std::uint8_t target = kNone, source = 0;
  float x = 0.0F, y = 0.0F;
};

[[nodiscard]] inline Order attack_order(int target) {
  return {Cmd::attack, static_cast<std::uint8_t>(target), 0, 0.0F, 0.0F};
}
[[nodiscard]] inline Order gather_order(int base, int resource) {
  return {Cmd::gather, static_cast<std::uint8_t>(base), static_cast<std::uint8_t>(resource), 0.0F,
          0.0F};
}
[[nodiscard]] inline Order move_order(float x, float y) { return {Cmd::move, kNone, 0, x, y}; }
[[nodiscard]] inline Order build_order(int type) {
  return {Cmd::build, static_cast<std::uint8_t>(type), 1, 0.0F, 0.0F};
}
[[nodiscard]] inline Order build_order(int type, float x, float y) {
  return {Cmd::build, static_cast<std::uint8_t>(type), 0, x, y};
}

// Calls f(slot) for the owner's units in rising id.
template <class F>
inline void for_units(const EngineRules& rules, const State& state, int owner, F&& f) {
  const int begin = rules.first_slot[owner];
  for (int i = begin; i < begin + state.units[owner]; ++i) f(i);
}

// SIMD groups of four: calls f(slot) for the first slot 4 * k of each group that has a unit.
template <class F>
inline void for_groups_of_4(const State& state, F&& f) {
  for (unsigned left = state.groups_of_4; left != 0; left &= left - 1)
    f(4 * std::countr_zero(left));
}

// Calls f(slot) for each set bit, upwards.
template <class F>
inline void for_bits(std::uint64_t bits, F&& f) {
  for (; bits != 0; bits &= bits - 1) f(std::countr_zero(bits));
}

}  // namespace ludus::rts
