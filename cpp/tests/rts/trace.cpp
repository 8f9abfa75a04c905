#include "tests/rts/trace.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>

#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/engine/path_cache.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/strategy.hpp"
#include "games/rts/tower_defense/strategy.hpp"

namespace ludus::rts {

namespace {

constexpr int kNoId = -1;
constexpr int kIdBits = 24;

class Crc32 {
 public:
  void u32(std::uint32_t v) {
    for (int i = 0; i < 4; ++i) byte(v >> (8 * i) & 0xff);
  }
  void f32(float v) { u32(std::bit_cast<std::uint32_t>(v == 0.0F ? 0.0F : v)); }
  [[nodiscard]] std::uint32_t value() const { return ~crc_; }

 private:
  void byte(std::uint32_t b) {
    crc_ ^= b;
    for (int k = 0; k < 8; ++k) crc_ = (crc_ & 1) != 0 ? 0xedb88320U ^ crc_ >> 1 : crc_ >> 1;
  }
  std::uint32_t crc_ = 0xffffffffU;
};

struct Command {
  int kind = 0, start = 0, target = kNoId, other = kNoId, phase = 0;
  bool placed = false;
  float x = 0, y = 0;
};

struct RecordedUnit {
  int id, player, type, hp, last[4], built, damage_from;
  float x, y;
  bool has_flag;
  std::string speed;  // "-" where it was not recorded
  Command command;
};

struct RecordedBullet {
  float x, y;
  int shooter, target, damage, state;
};

struct Recorded {
  unsigned tick;
  int money[kMaxOwners];
  std::vector<RecordedUnit> units;
  std::vector<RecordedBullet> bullets;
};

template <class T>
T read(std::istream& in) {
  T v{};
  if (!(in >> v)) throw std::runtime_error("trace: malformed line");
  return v;
}

int read_id(std::istream& in) {
  const auto text = read<std::string>(in);
  return text == "-" ? kNoId : std::stoi(text);
}

Command read_command(std::istream& in) {
  Command c;
  c.kind = read<int>(in);
  c.start = read<int>(in);
  c.target = read_id(in);
  c.other = read_id(in);
  const auto x = read<std::string>(in);
  const auto y = read<std::string>(in);
  c.placed = x != "-";
  if (c.placed) {
    c.x = std::stof(x);
    c.y = std::stof(y);
  }
  c.phase = read<int>(in);
  return c;
}

Recorded read_state(std::istream& head, std::istream& in) {
  Recorded r;
  r.tick = read<unsigned>(head);
  for (int& m : r.money) m = read<int>(head);
  const int units = read<int>(head);
  const int bullets = read<int>(head);
  std::string line;
  for (int i = 0; i < units + bullets; ++i) {
    if (!std::getline(in, line)) throw std::runtime_error("trace: ends inside a state");
    std::istringstream s(line);
    const auto tag = read<std::string>(s);
    if (tag == "u") {
      RecordedUnit u;
      u.id = read<int>(s);
      u.player = read<int>(s);
      u.type = read<int>(s);
      u.x = read<float>(s);
      u.y = read<float>(s);
      u.hp = read<int>(s);
      for (int& l : u.last) l = read<int>(s);
      u.built = read<int>(s);
      u.damage_from = read<int>(s);
      u.command = read_command(s);
      u.has_flag = read<int>(s) != 0;
      u.speed = read<std::string>(s);
      r.units.push_back(u);
    } else {
      RecordedBullet b;
      b.x = read<float>(s);
      b.y = read<float>(s);
      b.shooter = read<int>(s);
      b.target = read<int>(s);
      b.damage = read<int>(s);
      b.state = read<int>(s);
      r.bullets.push_back(b);
    }
  }
  return r;
}

int full_id(const EngineRules& rules, const State& s, int slot) {
  if (slot == kNone) return kNoId;
  return rules.owner_of(slot) << kIdBits | s.id[slot];
}

// The match of the recorded state; every unit is idle in the first recorded one.
State load(const EngineRules& rules, const Recorded& r) {
  State s;
  clear_state(rules, s);
  for (const RecordedUnit& u : r.units) {
    const int slot =
        add_unit(rules, s, u.player, u.type, u.x, u.y, static_cast<std::uint32_t>(u.built));
    if (slot < 0 || u.command.kind != 0) throw std::runtime_error("trace: bad first state");
    s.id[slot] = static_cast<std::uint16_t>(u.id & ((1 << kIdBits) - 1));
  }
  s.next_id = static_cast<std::uint16_t>(r.units.size());
  for (int p = 0; p < kMaxOwners; ++p) s.money[p] = r.money[p];
  s.tick = r.tick;
  return s;
}

std::uint32_t checksum(const EngineRules& rules, const State& s) {
  Crc32 crc;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(rules, s, owner, [&](int i) {
      crc.u32(static_cast<std::uint32_t>(full_id(rules, s, i)));
      crc.u32(s.type[i]);
      crc.f32(s.x[i]);
      crc.f32(s.y[i]);
      crc.u32(static_cast<std::uint32_t>(s.hp[i]));
    });
  }
  const int players = rules.flag.type >= 0 ? kMaxOwners : 2;
  for (int p = 0; p < players; ++p) crc.u32(static_cast<std::uint32_t>(s.money[p]));
  for (int i = 0; i < s.bullets; ++i) {
    crc.f32(s.bullet_x[i]);
    crc.f32(s.bullet_y[i]);
    crc.u32(static_cast<std::uint32_t>(s.bullet_state[i]));
  }
  return crc.value();
}

struct Differ {
  const EngineRules& rules;
  const State& s;
  const Recorded& want;
  std::ostringstream out{};

  template <class T>
  void field(const std::string& what, T ours, T theirs) {
    if (ours == theirs) return;
    out.precision(9);
    out << (out.tellp() > 0 ? "; " : "") << what << " " << ours << " not " << theirs;
  }
  // References to units that died are forgotten here and kept as numbers there.
  [[nodiscard]] int alive(int id) const {
    for (const RecordedUnit& u : want.units) {
      if (u.id == id) return id;
    }
    return kNoId;
  }

  void unit(int i, const RecordedUnit& u) {
    const std::string who = "unit " + std::to_string(u.id) + " ";
    field(who + "id", full_id(rules, s, i), u.id);
    field(who + "type", static_cast<int>(s.type[i]), u.type);
    field(who + "x", s.x[i], u.x);
    field(who + "y", s.y[i], u.y);
    field(who + "hp", static_cast<int>(s.hp[i]), u.hp);
    for (int c = 0; c < 4; ++c) {
      field(who + "cooldown " + std::to_string(c), static_cast<int>(s.last[c][i]), u.last[c]);
    }
    field(who + "built", static_cast<int>(s.built[i]), u.built);
    field(who + "damage_from", full_id(rules, s, s.damaged_by[i]), alive(u.damage_from));
    if (u.speed != "-") {
      field(who + "speed", s.speed[i], std::stof(u.speed));
      field(who + "has_flag", (s.carrying >> i & 1) != 0, u.has_flag);
    }
    const Command& c = u.command;
    field(who + "command", static_cast<int>(s.cmd[i]), c.kind);
    if (c.kind == 0 || static_cast<int>(s.cmd[i]) != c.kind) return;
    field(who + "command start", static_cast<int>(s.start[i]), c.start);
    if (c.kind != 2 && c.kind < 5) field(who + "phase", static_cast<int>(s.phase[i]), c.phase);
    if (c.kind == 4) {
      field(who + "builds", static_cast<int>(s.target[i]), c.target);
      field(who + "nearby", s.source[i] == 0, c.placed);
    } else if (c.kind == 2 || c.kind == 3 || c.kind == 5) {
      field(who + "target", full_id(rules, s, s.target[i]), alive(c.target));
      if (c.kind == 3) field(who + "resource", full_id(rules, s, s.source[i]), alive(c.other));
    }
    if (c.placed) {
      field(who + "to x", s.px[i], c.x);
      field(who + "to y", s.py[i], c.y);
    }
  }

  std::string all() {
    std::vector<int> slots;
    for (int owner = 0; owner < kMaxOwners; ++owner) {
      for_units(rules, s, owner, [&](int i) { slots.push_back(i); });
    }
    field("units", slots.size(), want.units.size());
    for (int p = 0; p < kMaxOwners; ++p) field("money", s.money[p], want.money[p]);
    for (std::size_t i = 0; i < std::min(slots.size(), want.units.size()); ++i) {
      unit(slots[i], want.units[i]);
    }
    field("bullets", static_cast<std::size_t>(s.bullets), want.bullets.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(s.bullets, want.bullets.size()); ++i) {
      const std::string who = "bullet " + std::to_string(i) + " ";
      field(who + "x", s.bullet_x[i], want.bullets[i].x);
      field(who + "y", s.bullet_y[i], want.bullets[i].y);
      field(who + "state", static_cast<int>(s.bullet_state[i]), want.bullets[i].state);
      field(who + "shooter", full_id(rules, s, s.bullet_shooter[i]),
            alive(want.bullets[i].shooter));
      field(who + "target", full_id(rules, s, s.bullet_target[i]), alive(want.bullets[i].target));
    }
    return out.str();
  }
};

struct Game {
  EngineRules rules;
  unsigned skip[2];
  std::function<void(State&, int)> decide;  // of a seat
  std::function<void(State&)> after;        // a tick
  std::array<std::uint32_t, kMaxSide> wall{};
  State state;
  FlagHeuristic heuristic;
  HeuristicTables tables;
  PathCache path_cache;
  bool loaded = false;
  TraceResult result;

  void advance_to(unsigned tick) {
    while (state.tick < tick && !state.over) {
      for (int seat = 0; seat < 2; ++seat) {
        if (state.tick % skip[seat] == 0) decide(state, seat);
      }
      HeuristicStore store = rules.flag.type >= 0 ? heuristic.store() : own_store(state, tables);
      store.path_cache = &path_cache;
      advance_tick(rules, state, store);
      if (after) after(state);
    }
  }
};

// The original's numbers: the first match of a fresh engine draws from its seed, unmixed.
class OriginalDraws {
 public:
  explicit OriginalDraws(unsigned seed) : engine_(seed) {}
  int operator()(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 engine_;
};

void start_minirts(Game& g, const Params& params, const std::string (&bots)[2]) {
  const MiniRules rules = make_mini_rules(params);
  g.rules = rules.engine;
  g.decide = [rules, simple = std::array{bots[0] == "simple", bots[1] == "simple"}](State& s,
                                                                                    int seat) {
    if (simple[static_cast<std::size_t>(seat)]) {
      play_simple(rules, s, seat);
    } else {
      play_hit_and_run(rules, s, seat);
    }
  };
}

void start_flag(Game& g, const Params& params, unsigned seed) {
  const CtfRules rules = make_ctf_rules(params);
  g.rules = rules.engine;
  g.decide = [rules](State& s, int seat) { play_flag_simple(rules, s, seat); };
  // The start took two draws for each athlete; each point takes one for each row that is tried.
  auto draw = std::make_shared<OriginalDraws>(seed);
  for (int i = 0; i < kFlagSeats * kAthletes; ++i) {
    (void)(*draw)(2);
    (void)(*draw)(9);
  }
  g.after = [draw, rows = rules.engine.flag.home_rows](State& s) {
    const int used = kFlagRows - s.flag_rows;
    for (int i = s.flag_rows - 1; i >= 0; --i) s.flag_row[i + used] = s.flag_row[i];
    for (int i = used - 1; i >= 0; --i) s.flag_row[i] = static_cast<std::uint8_t>((*draw)(rows));
    s.flag_rows = kFlagRows;
  };
}

void start_towers(Game& g, const Params& params, unsigned seed) {
  const TdRules rules = make_td_rules(params);
  g.rules = rules.engine;
  g.wall = make_maze(OriginalDraws(seed));
  g.decide = [rules](State& s, int seat) {
    if (seat == 0) {
      play_tower_simple(rules, s);
    } else {
      play_waves(rules, s);
    }
  };
}

unsigned hex(const std::string& text, std::size_t at) {
  return static_cast<unsigned>(std::stoul(text.substr(at, 8), nullptr, 16));
}

void start_game(Game& g, std::istream& line) {
  g = Game{};
  const auto game = read<std::string>(line);
  g.result.game = read<int>(line);
  const auto seed = read<unsigned>(line);
  std::string bots[2];
  for (std::string& b : bots) b = read<std::string>(line);
  for (unsigned& s : g.skip) s = read<unsigned>(line);
  Params params;
  params.set("tick_limit", read<std::string>(line));
  if (game == "minirts") {
    start_minirts(g, params, bots);
  } else if (game == "ctf") {
    start_flag(g, params, seed);
  } else if (game == "td") {
    start_towers(g, params, seed);
  } else {
    throw std::runtime_error("trace: unknown game " + game);
  }
  g.result.name = game + " seed " + std::to_string(seed) + " " + bots[0] + " " + bots[1] + " fs " +
                  std::to_string(g.skip[0]);
}

// The recorded map, which our generator makes from the same draws.
void check_terrain(Game& g, std::istream& line) {
  for (int y = 0; y < g.rules.side; ++y) {
    const auto row = read<std::string>(line);
    for (int x = 0; x < g.rules.side; ++x) {
      const bool wall = (g.wall[static_cast<std::size_t>(y)] >> x & 1) != 0;
      if (wall == (row.at(static_cast<std::size_t>(x)) == '#')) continue;
      g.result.difference = "terrain at " + std::to_string(x) + "," + std::to_string(y);
      return;
    }
  }
}

void check_sums(Game& g, std::istream& line) {
  const auto first = read<unsigned>(line);
  const auto sums = read<std::string>(line);
  for (std::size_t i = 0; i + 8 <= sums.size() && g.result.first_bad == 0; i += 8) {
    const auto tick = first + static_cast<unsigned>(i / 8);
    g.advance_to(tick);
    if (g.state.tick != tick || checksum(g.rules, g.state) != hex(sums, i)) {
      g.result.first_bad = tick;
    } else {
      ++g.result.ticks;
    }
  }
}

}  // namespace

std::vector<TraceResult> compare_traces(std::istream& in) {
  std::vector<TraceResult> results;
  Game g;
  bool open = false;
  const auto close = [&] {
    if (!open) return;
    g.result.agrees =
        g.result.first_bad == 0 && g.result.difference.empty() && g.result.end.empty();
    results.push_back(g.result);
    open = false;
  };
  std::string text;
  while (std::getline(in, text)) {
    std::istringstream line(text);
    const auto tag = read<std::string>(line);
    if (tag == "game") {
      close();
      start_game(g, line);
      open = true;
    } else if (tag == "terrain") {
      check_terrain(g, line);
    } else if (tag == "state") {
      const Recorded r = read_state(line, in);
      if (!g.loaded) {
        g.state = load(g.rules, r);
        g.state.wall = g.wall;
        if (g.after) g.after(g.state);
        g.loaded = true;
      } else if (g.result.difference.empty() &&
                 (g.result.first_bad == 0 || g.result.first_bad == r.tick)) {
        g.advance_to(r.tick);
        g.result.difference = Differ{g.rules, g.state, r}.all();
        if (!g.result.difference.empty()) g.result.first_bad = r.tick;
      }
    } else if (tag == "crc") {
      if (g.result.first_bad == 0) check_sums(g, line);
    } else if (tag == "end") {
      const auto ticks = read<unsigned>(line);
      const int winner = read<int>(line);
      if (g.result.first_bad == 0) {
        g.advance_to(ticks);
        if (!g.state.over || g.state.tick != ticks || g.state.winner != winner) {
          g.result.end = "over " + std::to_string(g.state.over) + " at " +
                         std::to_string(g.state.tick) + ", winner " +
                         std::to_string(g.state.winner) + " not at " + std::to_string(ticks) +
                         ", winner " + std::to_string(winner);
        }
      }
    }
  }
  close();
  return results;
}

}  // namespace ludus::rts
