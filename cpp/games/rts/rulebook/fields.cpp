#include "games/rts/rulebook/fields.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/whole.hpp"

namespace ludus::rts {

namespace {

template <class T>
bool parse(std::string_view text, T& out) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), out);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

template <class T>
std::string number_text(T v) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}

bool within(double v, double low, double high) { return v >= low && v <= high; }

// Collects fields of one book.
struct List {
  Book& book;
  std::vector<Field> out;

  Field& add(std::string key, FieldKind kind, const char* meaning) {
    Field f;
    f.key = std::move(key);
    f.kind = kind;
    f.meaning = meaning;
    out.push_back(std::move(f));
    return out.back();
  }

  // Numbers inside book.numbers may vary from match to match.
  template <class T>
  void vary(Field& f, const T& target, Drawn::Kind storage) {
    const auto* base = reinterpret_cast<const char*>(&book.numbers);
    const auto* at = reinterpret_cast<const char*>(&target);
    f.may_vary = true;
    f.offset = static_cast<std::size_t>(at - base);
    f.storage = storage;
  }

  template <class T>
  Field& integer(std::string key, T& target, double low, double high, const char* meaning) {
    Field& f = add(std::move(key), FieldKind::integer, meaning);
    f.low = low;
    f.high = high;
    f.assign = [&target, low, high](std::string_view text) {
      std::int64_t v = 0;
      if (!parse_whole(text, v) || !within(static_cast<double>(v), low, high)) return false;
      target = static_cast<T>(v);
      return true;
    };
    f.print = [&target] { return number_text(static_cast<std::int64_t>(target)); };
    return f;
  }

  void varying(std::string key, std::int32_t& target, double low, double high,
               const char* meaning) {
    vary(integer(std::move(key), target, low, high, meaning), target, Drawn::Kind::i32);
  }

  Field& real(std::string key, float& target, double low, double high, const char* meaning) {
    Field& f = add(std::move(key), FieldKind::real, meaning);
    f.low = low;
    f.high = high;
    f.assign = [&target, low, high](std::string_view text) {
      float v = 0.0F;
      if (!parse(text, v) || !within(static_cast<double>(v), low, high)) return false;
      target = v;
      return true;
    };
    f.print = [&target] { return number_text(target); };
    return f;
  }

  void varying(std::string key, float& target, double low, double high, const char* meaning) {
    vary(real(std::move(key), target, low, high, meaning), target, Drawn::Kind::f32);
  }

  // A factor, kept as whole percent.
  void factor(std::string key, std::uint16_t& percent, double high, const char* meaning) {
    Field& f = add(std::move(key), FieldKind::real, meaning);
    f.high = high;
    f.assign = [&percent, high](std::string_view text) {
      double v = 0.0;
      if (!parse(text, v) || !within(v, 0.0, high)) return false;
      percent = static_cast<std::uint16_t>(v * 100.0 + 0.5);
      return true;
    };
    f.print = [&percent] { return number_text(percent / 100.0); };
    vary(f, percent, Drawn::Kind::u16);
  }

  void flag(std::string key, bool& target, const char* meaning) {
    Field& f = add(std::move(key), FieldKind::flag, meaning);
    f.choices = {"false", "true"};
    f.assign = [&target](std::string_view text) {
      const bool yes = text == "true" || text == "1";
      if (!yes && text != "false" && text != "0") return false;
      target = yes;
      return true;
    };
    f.print = [&target] { return target ? "true" : "false"; };
  }

  // One of `valid`, kept as its place in the list.
  template <class T>
  void choice(std::string key, T& target, std::vector<std::string> valid, const char* meaning) {
    Field& f = add(std::move(key), FieldKind::name, meaning);
    f.choices = valid;
    f.assign = [&target, valid](std::string_view text) {
      const auto it = std::ranges::find(valid, text);
      if (it == valid.end()) return false;
      target = static_cast<T>(it - valid.begin());
      return true;
    };
    f.print = [&target, valid] {
      const auto i = static_cast<std::size_t>(target);
      return i < valid.size() ? valid[i] : std::string();
    };
  }

  // A set of names as bits, written "a,b,c"; bit i is valid[i].
  void set(std::string key, std::uint16_t& target, std::vector<std::string> valid,
           const char* meaning) {
    Field& f = add(std::move(key), FieldKind::names, meaning);
    for (const std::string& v : valid) {
      if (!v.empty()) f.choices.push_back(v);
    }
    f.assign = [&target, valid](std::string_view text) {
      std::uint16_t bits = 0;
      while (!text.empty()) {
        const std::string_view name = text.substr(0, text.find(','));
        const auto it = std::ranges::find(valid, name);
        if (name.empty() || it == valid.end()) return false;
        bits = static_cast<std::uint16_t>(bits | 1U << (it - valid.begin()));
        text.remove_prefix(std::min(text.size(), name.size() + 1));
      }
      target = bits;
      return true;
    };
    f.print = [&target, valid] {
      std::string text;
      for (std::size_t i = 0; i < valid.size(); ++i) {
        if ((target >> i & 1) == 0) continue;
        if (!text.empty()) text += ',';
        text += valid[i];
      }
      return text;
    };
  }
};

constexpr double kTicks = kMaxTickLimit;

void unit_fields(List& l, int t) {
  UnitType& u = l.book.numbers.engine.type[static_cast<std::size_t>(t)];
  const std::string p = "units." + l.book.names[static_cast<std::size_t>(t)] + ".";
  // The first commands of the engine are what rulebooks order.
  const std::vector<std::string> commands = {"", "move", "attack", "gather", "build"};
  l.varying(p + "cost", u.cost, 0, 1e6, "money that building one takes");
  l.varying(p + "hp", u.hp, 1, 30000, "hit points of a new one");
  l.varying(p + "defence", u.defence, 0, 30000, "taken off the damage of every hit");
  l.varying(p + "attack", u.attack, 0, 30000, "damage of a hit, before factors and defence");
  l.varying(p + "attack_range", u.attack_range, 0, 64,
            "cells; up to 1 it hits at once, above it shoots projectiles");
  l.varying(p + "vision", u.vision, 0, 64, "cells that it sees, along the axes together");
  l.varying(p + "speed", u.speed, 0, 0.5, "cells a tick");
  l.flag(p + "building", u.building, "it takes no order while it carries one out");
  l.flag(p + "invulnerable", u.invulnerable, "hits do nothing to it (ruleset clean)");
  l.set(p + "accepts", u.accepts, commands, "orders that it takes");
  l.set(p + "builds", u.builds, l.book.names, "types that it builds");
  constexpr std::array<const char*, kCooldowns> kNames = {"move", "attack", "gather", "build"};
  constexpr std::array<const char*, kCooldowns> kMeaning = {
      "ticks between two steps", "ticks between two hits", "ticks that gathering once takes",
      "ticks that building something takes"};
  for (std::size_t c = 0; c < kCooldowns; ++c) {
    l.varying(p + "cooldown." + kNames[c], u.cooldown[c], 0, kTicks, kMeaning[c]);
  }
}

void attack_fields(List& l) {
  const std::vector<std::string>& names = l.book.names;
  AttackTable& table = l.book.numbers.engine.attacks;
  for (std::size_t a = 0; a < names.size(); ++a) {
    for (std::size_t b = 0; b < names.size(); ++b) {
      l.factor("attack." + names[a] + "." + names[b], table.percent[a][b], 10,
               "factor on the damage that the first type does to the second; 0: it cannot attack "
               "it");
    }
  }
}

void start_fields(List& l) {
  Numbers& n = l.book.numbers;
  l.choice("start.extra_units", n.start_positions.extra_units, {"random", "symmetric", "none"},
           "random: each seat draws its own; symmetric: both the same, mirrored; none");
  l.varying("start.money", n.start_positions.money, 0, 100000, "of each seat");
  for (std::size_t t = 0; t < l.book.names.size(); ++t) {
    const std::string p = "start.units." + l.book.names[t] + ".";
    l.varying(p + "tries", n.extra_tries[t], 0, StartPositions::kMaxTries,
              "so many times a unit of the type may be there at the start");
    l.varying(p + "tenths", n.extra_tenths[t], 0, 10, "chance of each, in tenths");
  }
}

void match_fields(List& l) {
  Book& b = l.book;
  Numbers& n = b.numbers;
  l.choice("ruleset", b.clean, {"elf", "clean"},
           "elf: the engine's rules with the original's quirks; clean: without");
  l.integer("map.side", n.engine.side, 10, kMaxSide, "cells along a side of the square map");
  l.integer("match.tick_limit", n.engine.tick_limit, 1, kTicks,
            "the match ends in this tick at the latest");
  l.integer("match.frame_skip", b.frame_skip, 1, 10000,
            "ticks between two decisions of a seat, by default");
  l.choice("roles.base", n.start_positions.base, b.names,
           "what a seat starts with, and gatherers carry to");
  l.choice("roles.resource", n.start_positions.resource, b.names, "what gatherers take from");
  l.set("win.vital", n.engine.vital, b.names,
        "who alone still has a unit of the base's type or of these wins");
  l.varying("win.money", n.money_to_win, 0, 1e6, "who has as much wins; 0: money does not win");
  l.choice("win.at_limit", b.at_limit, {"draw", "seat_0", "seat_1", "richer", "stronger"},
           "who wins at the tick limit; stronger: by the cost of all units");
  constexpr double kReward = 10;
  BookRewards& r = n.rewards;
  l.varying("reward.win", r.win, -kReward, kReward, "at the end, to the winner");
  l.varying("reward.loss", r.loss, -kReward, kReward, "at the end, to the loser");
  l.varying("reward.draw", r.draw, -kReward, kReward, "at the end, to both when no one wins");
  l.varying("reward.kill", r.kill, -kReward, kReward,
            "for every 100 of the cost of enemies fallen");
  l.varying("reward.lost", r.lost, -kReward, kReward,
            "for every 100 of the cost of own units lost");
  l.varying("reward.income", r.income, -kReward, kReward, "for every 100 of money gathered");
  l.varying("reward.tick", r.tick, -kReward, kReward, "in every tick");
  l.varying("bullet.speed", n.engine.bullet_speed, 0.01, 4, "cells a tick, of projectiles");
  l.varying("bullet.hit_distance", n.engine.bullet_hit, 0.01, 2, "cells");
  l.varying("gather.amount", n.engine.gather_amount, 1, 10000, "money of one load");
  l.integer("path.remember_ticks", n.engine.path_cache_ticks, 1, 100,
            "how long an answer of the path search is used");
}

void wave_fields(List& l) {
  Numbers& n = l.book.numbers;
  for (std::size_t w = 0; w < l.book.wave_names.size(); ++w) {
    BookWave& wave = n.wave[w];
    const std::string p = "waves." + l.book.wave_names[w] + ".";
    l.integer(p + "seat", wave.seat, 0, 1, "who gets the units");
    l.choice(p + "type", wave.type, l.book.names, "of the units");
    l.varying(p + "first", wave.first, 0, kTicks, "tick of the first wave");
    l.varying(p + "every", wave.every, 0, kTicks, "ticks between two waves; 0: it comes once");
    l.varying(p + "count", wave.count, 0, 32, "units of the first wave");
    l.varying(p + "grow", wave.grow, 0, 32, "units more with every wave");
    l.varying(p + "x", wave.x, 0, kMaxSide - 1, "where they appear, in cells");
    l.varying(p + "y", wave.y, 0, kMaxSide - 1, "where they appear, in cells");
  }
}

void bot_fields(List& l) {
  for (BookBot& bot : l.book.bots) {
    const std::string p = "bots." + bot.name + ".";
    l.integer(p + "gatherers", bot.gatherers, 0, 32, "it wants so many units that gather");
    l.set(p + "builds", bot.builds, l.book.names, "buildings of which it wants one each");
    l.set(p + "trains", bot.trains, l.book.names, "troops that it trains, the rarest first");
    l.integer(p + "attack_at", bot.attack_at, 0, 64, "troops with which it attacks");
    l.flag(p + "skirmish", bot.skirmish, "its far-reaching troops hit and run instead of charging");
  }
}

}  // namespace

std::string Field::expected() const {
  const auto listed = [&] {
    std::string s;
    for (const std::string& c : choices) s += (s.empty() ? "" : ", ") + c;
    return s;
  };
  switch (kind) {
    case FieldKind::integer:
      return "an integer in [" + number_text(static_cast<std::int64_t>(low)) + ", " +
             number_text(static_cast<std::int64_t>(high)) + "]";
    case FieldKind::real:
      return "a number in [" + number_text(low) + ", " + number_text(high) + "]";
    case FieldKind::flag:
      return "true or false";
    case FieldKind::name:
      return "one of " + listed();
    case FieldKind::names:
      return "a list of " + listed();
    default:
      return meaning;
  }
}

std::vector<Field> book_fields(Book& book) {
  List l{book, {}};
  Field& title = l.add("title", FieldKind::text, "up to 64 characters of plain ASCII");
  title.assign = [&book](std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (!plain || text.empty() || text.size() > 64) return false;
    book.title = text;
    return true;
  };
  title.print = [&book] { return book.title; };
  Field& terrain = l.add(
      "map.terrain", FieldKind::text,
      "as many rows as the map has cells along a side, each of as many letters: . free, x wall, "
      "0 and 1 the bases of the seats, a and b their resources");
  terrain.assign = [&book](std::string_view text) {
    if (text.size() > (kMaxSide + 1) * kMaxSide) return false;
    book.terrain = text;
    return true;
  };
  terrain.print = [&book] { return book.terrain; };
  match_fields(l);
  start_fields(l);
  for (int t = 0; t < book.types(); ++t) unit_fields(l, t);
  attack_fields(l);
  wave_fields(l);
  bot_fields(l);
  return std::move(l.out);
}

}  // namespace ludus::rts
