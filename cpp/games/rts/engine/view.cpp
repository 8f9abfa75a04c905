#include "games/rts/engine/view.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "games/rts/engine/fog.hpp"

namespace ludus::rts {

namespace {

constexpr const char* kBulletStates[] = {"ready", "explode1", "explode2", "explode3", "done"};

template <class... Args>
void print(std::string& out, const char* format, Args... args) {
  char buffer[160];
  const int n = std::snprintf(buffer, sizeof buffer, format, args...);
  if (n > 0)
    out.append(buffer, std::min<std::size_t>(static_cast<std::size_t>(n), sizeof buffer - 1));
}

void separate(std::string& out) {
  if (out.back() != '[' && out.back() != '{') out += ',';
}

struct Printer {
  const ViewNames& names;
  const EngineRules& rules;
  const State& s;
  std::string out;

  // The public id: running number, unique for the match.
  [[nodiscard]] int id(int slot) const { return slot == kNone ? -1 : s.id[slot]; }

  void command(int i) {
    print(out, "\"command\":\"%s\"", kCmdNames[static_cast<int>(s.cmd[i])]);
    switch (s.cmd[i]) {
      case Cmd::idle:
        return;
      case Cmd::move:
        print(out, ",\"to\":[%.4f,%.4f]", s.px[i], s.py[i]);
        break;
      case Cmd::attack:
        print(out, ",\"target\":%d", id(s.target[i]));
        break;
      case Cmd::gather:
        print(out, ",\"target\":%d,\"base\":%d", id(s.source[i]), id(s.target[i]));
        break;
      case Cmd::get_flag:
        print(out, ",\"target\":%d", id(s.target[i]));
        break;
      case Cmd::escort_flag:
        break;
      case Cmd::build:
      case Cmd::build_tower:
        print(out, ",\"builds\":\"%s\"", names.types[s.target[i]]);
        if (s.source[i] == 0) print(out, ",\"to\":[%.4f,%.4f]", s.px[i], s.py[i]);
        break;
    }
    print(out, ",\"phase\":%d,\"since\":%d", s.phase[i], s.start[i]);
  }

  // The share of each cooldown still to wait.
  void cooldowns(int i) {
    constexpr const char* kNames[] = {"move", "attack", "gather", "build"};
    out += ",\"cooldown\":{";
    for (int c = 0; c < kCooldowns; ++c) {
      const int length = rules.type[s.type[i]].cooldown[c];
      const int gone = static_cast<int>(s.tick) - static_cast<int>(s.last[c][i]);
      const bool waits = length > 0 && s.last[c][i] != 0 && gone < length;
      if (!waits) continue;
      separate(out);
      print(out, "\"%s\":%.3f", kNames[c], static_cast<double>(length - gone) / length);
    }
    out += '}';
  }

  [[nodiscard]] int seat_of(int owner, int slot) const {
    if (names.seat_of) return names.seat_of(slot);
    return owner == kFlagOwner ? -1 : owner;
  }

  void units() {
    out += "\"units\":[";
    for (int owner = 0; owner < names.owners; ++owner) {
      for_units(rules, s, owner, [&](int i) {
        separate(out);
        print(out, "{\"id\":%d,\"seat\":%d,\"type\":\"%s\",\"x\":%.5f,\"y\":%.5f,", s.id[i],
              seat_of(owner, i), names.types[s.type[i]], s.x[i], s.y[i]);
        print(out, "\"hp\":%d,\"max_hp\":%d,\"built\":%d,", s.hp[i],
              names.max_hp_of ? names.max_hp_of(i) : rules.type[s.type[i]].hp, s.built[i]);
        if ((s.carrying >> i & 1) != 0) out += "\"carries\":true,";
        command(i);
        cooldowns(i);
        out += '}';
      });
    }
    out += ']';
  }

  void bullets() {
    out += "\"bullets\":[";
    for (int i = 0; i < s.bullets; ++i) {
      separate(out);
      print(out, "{\"x\":%.5f,\"y\":%.5f,\"shooter\":%d,\"target\":%d,\"state\":\"%s\"}",
            s.bullet_x[i], s.bullet_y[i], id(s.bullet_shooter[i]), id(s.bullet_target[i]),
            kBulletStates[static_cast<int>(s.bullet_state[i])]);
    }
    out += ']';
  }

  void terrain() {
    out += ",\"terrain\":[";
    for (int y = 0; y < rules.side; ++y) {
      separate(out);
      out += '"';
      for (int x = 0; x < rules.side; ++x) out += walled(s, x, y) ? '#' : '.';
      out += '"';
    }
    out += ']';
  }

  void roles() {
    out += "\"roles\":{";
    for (int t = 0; t < rules.types; ++t) {
      const auto same = [&](int u) { return std::string_view(names.types[u]) == names.types[t]; };
      bool before = false;
      for (int u = 0; u < t; ++u) before |= same(u);
      if (before) continue;
      separate(out);
      print(out, "\"%s\":\"%s\"", names.types[t], names.roles[t]);
    }
    out += '}';
  }

  // One string a seat and row: '1' where the seat sees the cell, index x.
  void seen() {
    out += "\"seen\":[";
    for (int seat = 0; seat < names.seats; ++seat) {
      const Sight sight = sight_of(rules, s, names.owner_of ? names.owner_of(seat) : seat);
      separate(out);
      out += '[';
      for (int y = 0; y < rules.side; ++y) {
        separate(out);
        out += '"';
        for (int x = 0; x < rules.side; ++x) out += sight.cell(x, y) ? '1' : '0';
        out += '"';
      }
      out += ']';
    }
    out += ']';
  }
};

}  // namespace

std::string view_world(const EngineRules& rules, const State& s, const ViewNames& names) {
  Printer p{names, rules, s, {}};
  print(p.out, "{\"game\":\"%s\",\"tick\":%u,\"map\":{\"width\":%d,\"height\":%d", names.game,
        s.tick, rules.side, rules.side);
  if (rules.terrain) p.terrain();
  print(p.out, "},\"over\":%s,\"winner\":%d,\"congested\":%s,", s.over ? "true" : "false", s.winner,
        s.congested ? "true" : "false");
  print(p.out, "\"%s\":[", names.money);
  for (int seat = 0; seat < names.seats; ++seat) {
    separate(p.out);
    print(p.out, "%d", names.money_of ? names.money_of(seat) : s.money[seat]);
  }
  p.out += "],";
  p.roles();
  p.out += ',';
  p.units();
  p.out += ',';
  p.bullets();
  if (names.fog) {
    p.out += ',';
    p.seen();
  }
  if (!names.more.empty()) p.out += ',' + names.more;
  p.out += '}';
  return std::move(p.out);
}

}  // namespace ludus::rts
