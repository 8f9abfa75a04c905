#include "games/rts/minirts/rules.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>

#include "base/names.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/minirts/builtin_rulebook.hpp"

namespace ludus::rts {

namespace {

// One key of the rulebook: how to read its text into the rules, and back.
struct Field {
  std::string key;
  std::string expected;                          // for error messages
  std::function<bool(std::string_view)> assign;  // false: not acceptable
  std::function<std::string()> print;
};

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

template <class T>
Field number(std::string key, T& target, double low, double high) {
  const bool whole = std::is_integral_v<T>;
  return {std::move(key),
          whole ? "an integer in [" + number_text(static_cast<long>(low)) + ", " +
                      number_text(static_cast<long>(high)) + "]"
                : "a number in [" + number_text(low) + ", " + number_text(high) + "]",
          [&target, low, high](std::string_view text) {
            T v{};
            if (!parse(text, v)) return false;
            if (!(static_cast<double>(v) >= low && static_cast<double>(v) <= high)) return false;
            target = v;
            return true;
          },
          [&target] { return number_text(target); }};
}

Field flag(std::string key, bool& target) {
  return {std::move(key), "0 or 1",
          [&target](std::string_view text) {
            if (text != "0" && text != "1") return false;
            target = text == "1";
            return true;
          },
          [&target] { return target ? "1" : "0"; }};
}

// A set of names as bits, written "a,b,c"; empty text is the empty set.
Field names(std::string key, std::uint16_t& target, std::vector<std::string> valid) {
  std::string expected = "a comma-separated list of";
  for (const std::string& v : valid) {
    if (!v.empty()) expected += " " + v;
  }
  return {std::move(key), expected,
          [&target, valid](std::string_view text) {
            std::uint16_t set = 0;
            while (!text.empty()) {
              const std::string_view name = text.substr(0, text.find(','));
              const auto it = std::ranges::find(valid, name);
              if (name.empty() || it == valid.end()) return false;
              set = static_cast<std::uint16_t>(set | 1U << (it - valid.begin()));
              text.remove_prefix(std::min(text.size(), name.size() + 1));
            }
            target = set;
            return true;
          },
          [&target, valid] {
            std::string text;
            for (std::size_t i = 0; i < valid.size(); ++i) {
              if ((target >> i & 1) == 0) continue;
              if (!text.empty()) text += ',';
              text += valid[i];
            }
            return text;
          }};
}

std::vector<std::string> command_names() {
  std::vector<std::string> v(kCmdNames.begin(), kCmdNames.end());
  v[0].clear();  // nobody is ordered to be idle
  return v;
}

// `hit_distance` is given as a distance and kept squared.
std::vector<Field> fields(MiniRules& rules) {
  EngineRules& engine = rules.engine;
  std::vector<Field> f;
  const std::vector<std::string> types(kMiniTypeNames.begin(), kMiniTypeNames.end());
  constexpr std::array<const char*, kCooldowns> kCooldownNames = {"move", "attack", "gather",
                                                                  "build"};
  for (int t = 0; t < kMiniTypes; ++t) {
    UnitType& u = engine.type[t];
    const std::string p = types[t] + ".";
    f.push_back(number(p + "cost", u.cost, 0, 1e6));
    f.push_back(number(p + "hp", u.hp, 1, 30000));
    f.push_back(number(p + "defence", u.defence, 0, 30000));
    f.push_back(number(p + "attack", u.attack, 0, 30000));
    f.push_back(number(p + "attack_range", u.attack_range, 0, 64));
    f.push_back(number(p + "vision", u.vision, 0, 64));
    f.push_back(number(p + "speed", u.speed, 0, 0.5));
    f.push_back(flag(p + "building", u.building));
    f.push_back(flag(p + "invulnerable", u.invulnerable));
    f.push_back(names(p + "accepts", u.accepts, command_names()));
    f.push_back(names(p + "builds", u.builds, types));
    for (int c = 0; c < kCooldowns; ++c) {
      f.push_back(number(p + "cooldown." + kCooldownNames[c], u.cooldown[c], 0, kMaxTickLimit));
    }
    if (t != kResource && t != kBase) {
      f.push_back(number("start." + types[t] + ".tries", rules.start_tries[t], 0, 8));
      f.push_back(number("start." + types[t] + ".tenths", rules.start_tenths[t], 0, 10));
    }
  }
  f.push_back(number("bullet.speed", engine.bullet_speed, 0.01, 4));
  f.push_back(number("bullet.hit_distance", engine.bullet_hit, 0.01, 2));
  f.push_back(number("gather.amount", engine.gather_amount, 1, 10000));
  f.push_back(number("path.remember_ticks", engine.path_cache_ticks, 1, 100));
  return f;
}

std::string_view trim(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 80)) + (text.size() > 80 ? "..." : "") + "'";
}

constexpr std::size_t kMaxRulebook = 65536;

}  // namespace

void apply_rulebook(MiniRules& rules, const std::string& text) {
  if (text.size() > kMaxRulebook) {
    throw ParamError("minirts.rulebook: " + std::to_string(text.size()) +
                     " bytes: expected at most " + std::to_string(kMaxRulebook));
  }
  const std::vector<Field> all = fields(rules);
  std::string_view rest = text;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = "minirts.rulebook line " + std::to_string(line_number) + ": ";
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      throw ParamError(where + quoted(line) + ": expected key=value");
    }
    const std::string_view key = trim(line.substr(0, equals));
    const std::string_view value = trim(line.substr(equals + 1));
    const auto it = std::ranges::find(all, key, &Field::key);
    if (it == all.end()) {
      std::vector<std::string> valid;
      for (const Field& f : all) valid.push_back(f.key);
      throw ParamError(where + "unknown key " + quoted(key) + did_you_mean(key, valid));
    }
    if (!it->assign(value)) {
      throw ParamError(where + it->key + " = " + quoted(value) + ": expected " + it->expected);
    }
  }
}

std::string print_rulebook(const MiniRules& rules) {
  MiniRules copy = rules;
  std::string text;
  for (const Field& f : fields(copy)) text += f.key + "=" + f.print() + "\n";
  return text;
}

std::vector<ParamSpec> mini_params() {
  const auto text = [](const char* name, const char* value, std::vector<std::string> choices,
                       const char* meaning) {
    return ParamSpec{name, ParamKind::text, value, 0, 0, std::move(choices), meaning};
  };
  const auto integer = [](const char* name, const char* value, double low, double high,
                          const char* meaning) {
    return ParamSpec{name, ParamKind::integer, value, low, high, {}, meaning};
  };
  return {
      text("ruleset", "elf", {"elf", "clean"},
           "elf: the original with all its quirks; clean: the quirks mended"),
      integer("map_size", "20", 10, kMaxSide, "cells along a side of the square map"),
      integer("start_resource", "200", 0, 100000, "money of each seat at the start"),
      integer("tick_limit", "30000", 1, kMaxTickLimit,
              "the match ends without a winner in this tick"),
      text("start_units", "random", {"random", "symmetric", "none"},
           "extra units at the start: random: each seat draws its own, as in the original; "
           "symmetric: both seats the same, mirrored; none: a base and its resource"),
      pixels_param(),
      text("rulebook", "", {},
           "lines key=value that override the built-in rulebook, such as worker.cost=40"),
  };
}

MiniRules make_mini_rules(const Params& params) {
  const std::vector<ParamSpec> declared = mini_params();
  params.check("minirts", declared);
  MiniRules rules;
  EngineRules& engine = rules.engine;
  engine.types = kMiniTypes;
  engine.base_type = kBase;
  apply_rulebook(rules, kMiniRulebook);
  apply_rulebook(rules, params.text("rulebook", declared));
  engine.side = static_cast<int>(params.integer("map_size", declared));
  engine.tick_limit = static_cast<std::uint32_t>(params.integer("tick_limit", declared));
  rules.start_money = static_cast<int>(params.integer("start_resource", declared));
  rules.pixels = static_cast<int>(params.integer("pixels", declared));
  const std::string start = params.text("start_units", declared);
  rules.start_units = start == "none"        ? StartUnits::none
                      : start == "symmetric" ? StartUnits::symmetric
                                             : StartUnits::random;
  if (params.text("ruleset", declared) == "clean") {
    engine.quirks = clean_quirks();
    rules.first_decision = 0;
  }
  return rules;
}

}  // namespace ludus::rts
