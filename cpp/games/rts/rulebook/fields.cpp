#include "games/rts/rulebook/fields.hpp"

#include <algorithm>

#include "games/rts/engine/rule_overrides.hpp"
#include "games/rts/engine/unit_fields.hpp"

namespace ludus::rts {

namespace {

// Collects fields of one book.
struct List {
  Book& book;
  std::vector<Field> out;

  Field& add(OverrideField how, FieldKind kind, const char* meaning) {
    Field f;
    f.key = std::move(how.key);
    f.kind = kind;
    f.low = how.low;
    f.high = how.high;
    f.choices = std::move(how.choices);
    f.meaning = meaning;
    f.assign = std::move(how.assign);
    f.print = std::move(how.print);
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
    return add(number_field(std::move(key), target, low, high), FieldKind::integer, meaning);
  }

  void number(std::string key, std::int32_t& target, double low, double high, const char* meaning) {
    vary(integer(std::move(key), target, low, high, meaning), target, Drawn::Kind::i32);
  }

  void number(std::string key, float& target, double low, double high, const char* meaning) {
    vary(add(number_field(std::move(key), target, low, high), FieldKind::real, meaning), target,
         Drawn::Kind::f32);
  }

  // A factor, kept as whole percent.
  void factor(std::string key, std::uint16_t& percent, double high, const char* meaning) {
    const auto assign = [&percent, high](std::string_view text) {
      double v = 0.0;
      if (!number_field("", v, 0.0, high).assign(text)) return false;
      percent = static_cast<std::uint16_t>(v * 100.0 + 0.5);
      return true;
    };
    const auto print = [&percent] { return number_text(percent / 100.0); };
    OverrideField how{std::move(key), "", assign, print, {}, "number", 0.0, high};
    vary(add(std::move(how), FieldKind::real, meaning), percent, Drawn::Kind::u16);
  }

  void flag(std::string key, bool& target, const char* meaning) {
    OverrideField how = choice_field(std::move(key), target, {"false", "true"});
    how.assign = [named = std::move(how.assign), bit = flag_field("", target).assign](
                     std::string_view text) { return named(text) || bit(text); };
    add(std::move(how), FieldKind::flag, meaning);
  }

  template <class T>
  void choice(std::string key, T& target, std::vector<std::string> valid, const char* meaning) {
    add(choice_field(std::move(key), target, std::move(valid)), FieldKind::name, meaning);
  }

  void names(std::string key, std::uint16_t& target, const std::vector<std::string>& valid,
             const char* meaning) {
    Field& f = add(names_field(std::move(key), target, valid), FieldKind::names, meaning);
    for (const std::string& v : valid) {
      if (!v.empty()) f.choices.push_back(v);
    }
  }
};

constexpr double kTicks = kMaxTickLimit;

void unit_fields(List& l, std::size_t t) {
  // The first commands of the engine are what rulebooks order.
  list_unit_fields(l, "units." + l.book.names[t] + ".", l.book.numbers.engine.type[t], l.book.names,
                   kEconomyCmds);
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
  l.number("start.money", n.start_positions.money, 0, 100000, "of each seat");
  for (std::size_t t = 0; t < l.book.names.size(); ++t) {
    const std::string p = "start.units." + l.book.names[t] + ".";
    l.number(p + "tries", n.extra_tries[t], 0, StartPositions::kMaxTries,
             "so many times a unit of the type may be there at the start");
    l.number(p + "tenths", n.extra_tenths[t], 0, 10, "chance of each, in tenths");
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
  l.names("win.vital", n.engine.vital, b.names,
          "who alone still has a unit of the base's type or of these wins");
  l.number("win.money", n.money_to_win, 0, 1e6, "who has as much wins; 0: money does not win");
  l.choice("win.at_limit", b.at_limit, {"draw", "seat_0", "seat_1", "richer", "stronger"},
           "who wins at the tick limit; stronger: by the cost of all units");
  constexpr double kReward = 10;
  BookRewards& r = n.rewards;
  l.number("reward.win", r.win, -kReward, kReward, "at the end, to the winner");
  l.number("reward.loss", r.loss, -kReward, kReward, "at the end, to the loser");
  l.number("reward.draw", r.draw, -kReward, kReward, "at the end, to both when no one wins");
  l.number("reward.kill", r.kill, -kReward, kReward, "for every 100 of the cost of enemies fallen");
  l.number("reward.lost", r.lost, -kReward, kReward, "for every 100 of the cost of own units lost");
  l.number("reward.income", r.income, -kReward, kReward, "for every 100 of money gathered");
  l.number("reward.tick", r.tick, -kReward, kReward, "in every tick");
  l.number("bullet.speed", n.engine.bullet_speed, 0.01, 4, "cells a tick, of projectiles");
  l.number("bullet.hit_distance", n.engine.bullet_hit, 0.01, 2, "cells");
  l.number("gather.amount", n.engine.gather_amount, 1, 10000, "money of one load");
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
    l.number(p + "first", wave.first, 0, kTicks, "tick of the first wave");
    l.number(p + "every", wave.every, 0, kTicks, "ticks between two waves; 0: it comes once");
    l.number(p + "count", wave.count, 0, 32, "units of the first wave");
    l.number(p + "grow", wave.grow, 0, 32, "units more with every wave");
    l.number(p + "x", wave.x, 0, kMaxSide - 1, "where they appear, in cells");
    l.number(p + "y", wave.y, 0, kMaxSide - 1, "where they appear, in cells");
  }
}

void bot_fields(List& l) {
  for (BookBot& bot : l.book.bots) {
    const std::string p = "bots." + bot.name + ".";
    l.integer(p + "gatherers", bot.gatherers, 0, 32, "it wants so many units that gather");
    l.names(p + "builds", bot.builds, l.book.names, "buildings of which it wants one each");
    l.names(p + "trains", bot.trains, l.book.names, "troops that it trains, the rarest first");
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
  const auto title = [&book](std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (!plain || text.empty() || text.size() > 64) return false;
    book.title = text;
    return true;
  };
  l.add({"title", "", title, [&book] { return book.title; }}, FieldKind::text,
        "up to 64 characters of plain ASCII");
  const auto terrain = [&book](std::string_view text) {
    if (text.size() > (kMaxSide + 1) * kMaxSide) return false;
    book.terrain = text;
    return true;
  };
  l.add({"map.terrain", "", terrain, [&book] { return book.terrain; }}, FieldKind::text,
        "as many rows as the map has cells along a side, each of as many letters: . free, x wall, "
        "0 and 1 the bases of the seats, a and b their resources");
  match_fields(l);
  start_fields(l);
  for (std::size_t t = 0; t < book.names.size(); ++t) unit_fields(l, t);
  attack_fields(l);
  wave_fields(l);
  bot_fields(l);
  return std::move(l.out);
}

}  // namespace ludus::rts
