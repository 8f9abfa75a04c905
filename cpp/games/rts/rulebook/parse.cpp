// From the text of a rulebook to arrays. Text from files, presets and replays is hostile: it is
// bounded, every value is checked, and every mistake is named.
#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

#include "base/names.hpp"
#include "games/rts/engine/map.hpp"
#include "games/rts/rulebook/builtin_books.hpp"
#include "games/rts/rulebook/fields.hpp"

namespace ludus::rts {

namespace {

constexpr std::size_t kMaxProblems = 20;
constexpr std::size_t kMaxTypeName = 24;

struct Line {
  std::string key, value;
};

// Mistakes, one a line of the message.
struct Problems {
  std::string text;
  std::size_t count = 0;

  void add(const std::string& what) {
    if (++count > kMaxProblems) return;
    if (!text.empty()) text += '\n';
    text += "rts.rulebook: " + what;
  }
  void finish() {
    if (count == 0) return;
    if (count > kMaxProblems) {
      text += "\nrts.rulebook: and " + std::to_string(count - kMaxProblems) + " more";
    }
    throw ParamError(text);
  }
};

std::string_view trim(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

std::string quoted(std::string_view text) {
  std::string out("'");
  out += text.substr(0, 60);
  out += text.size() > 60 ? "...'" : "'";
  return out;
}

bool is_name(std::string_view s) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !s.empty() && s.size() <= kMaxTypeName && letter(s.front()) &&
         std::ranges::all_of(
             s, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::vector<Line> lines_of(std::string_view rest, Problems& problems) {
  std::vector<Line> lines;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      problems.add("line " + std::to_string(number) + ": " + quoted(line) + ": expected key=value");
      continue;
    }
    lines.push_back(
        {std::string(trim(line.substr(0, equals))), std::string(trim(line.substr(equals + 1)))});
  }
  return lines;
}

// The part of `key` between `prefix` and the next dot, or "" when it does not start so.
std::string_view name_in(std::string_view key, std::string_view prefix) {
  if (!key.starts_with(prefix)) return {};
  key.remove_prefix(prefix.size());
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view{} : key.substr(0, dot);
}

// Puts the name that stands in `key` behind `prefix` into `names`, the first time it is met.
void collect(const std::string& key, const char* prefix, std::size_t most, const char* what,
             std::vector<std::string>& names, Problems& problems) {
  const std::string name(name_in(key, prefix));
  if (name.empty() || std::ranges::find(names, name) != names.end()) return;
  if (!is_name(name)) {
    problems.add(key + ": " + quoted(name) + ": the name of a " + what +
                 " has up to 24 small letters, digits and _, and starts with a letter");
  } else if (names.size() == most) {
    problems.add(key + ": expected at most " + std::to_string(most) + " " + what + "s");
  } else {
    names.push_back(name);
  }
}

// The lines of the rulebook that a first line `extends = NAME` names, and then its own.
std::vector<Line> with_base(std::vector<Line> own, Problems& problems) {
  const auto it = std::ranges::find(own, "extends", &Line::key);
  if (it == own.end()) return own;
  const std::string name = it->value;
  own.erase(it);
  const std::string text = builtin_book(name);
  if (text.empty()) {
    problems.add("extends = " + quoted(name) + ": no such rulebook" +
                 did_you_mean(name, builtin_books()));
    return own;
  }
  std::vector<Line> all = lines_of(text, problems);
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

void assign_all(Book& book, const std::vector<Line>& lines, Problems& problems) {
  const std::vector<Field> fields = book_fields(book);
  std::vector<std::string> valid;
  for (const Field& f : fields) valid.push_back(f.key);
  for (const Line& line : lines) {
    const auto it = std::ranges::find(fields, line.key, &Field::key);
    if (it == fields.end()) {
      if (problems.count < kMaxProblems) {
        problems.add(quoted(line.key) + ": unknown key" + did_you_mean(line.key, valid));
      } else {
        problems.add("");
      }
      continue;
    }
    if (it->assign(line.value)) continue;
    std::string near;
    if (it->kind == FieldKind::name || it->kind == FieldKind::names) {
      const std::string_view last = std::string_view(line.value).substr(0, 64);
      for (std::string_view rest = last; !rest.empty();) {
        const std::string one(rest.substr(0, rest.find(',')));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (std::ranges::find(it->choices, one) != it->choices.end()) continue;
        near = did_you_mean(one, it->choices);
        if (near.find("did you mean") == std::string::npos) near.clear();
        break;
      }
    }
    problems.add(line.key + " = " + quoted(line.value) + ": expected " + it->expected() + near);
  }
}

// Walls and start positions from the letters of the terrain.
void read_terrain(Book& book, Problems& problems) {
  if (book.terrain.empty()) return;
  const int side = book.engine().side;
  const std::string wants = "map.terrain: expected " + std::to_string(side) + " rows of " +
                            std::to_string(side) + " letters";
  std::string_view rest = book.terrain;
  for (int y = 0; y < side; ++y) {
    const std::string_view row = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), row.size() + 1));
    if (row.size() != static_cast<std::size_t>(side)) {
      problems.add(wants + ", row " + std::to_string(y) + " has " + std::to_string(row.size()));
      return;
    }
    for (int x = 0; x < side; ++x) {
      Book::Place* mark = nullptr;
      switch (row[static_cast<std::size_t>(x)]) {
        case '.':
          continue;
        case 'x':
          book.wall[static_cast<std::size_t>(y)] |= 1U << x;
          book.numbers.engine.terrain = true;
          continue;
        case '0':
        case '1':
          mark = &book.base_at[row[static_cast<std::size_t>(x)] == '1'];
          break;
        case 'a':
        case 'b':
          mark = &book.resource_at[row[static_cast<std::size_t>(x)] == 'b'];
          break;
        default:
          problems.add("map.terrain: row " + std::to_string(y) + " has the letter " +
                       quoted(row.substr(static_cast<std::size_t>(x), 1)) +
                       ": expected . x 0 1 a b");
          return;
      }
      if (mark->x >= 0) {
        problems.add("map.terrain: row " + std::to_string(y) + " has the letter " +
                     quoted(row.substr(static_cast<std::size_t>(x), 1)) + " a second time");
        return;
      }
      *mark = {x, y};
      book.starts_on_map = true;
    }
  }
  if (!rest.empty()) problems.add(wants + ", it has more rows");
  const auto missing = [](const Book::Place& p) { return p.x < 0; };
  if (std::ranges::any_of(book.base_at, missing) ||
      std::ranges::any_of(book.resource_at, missing)) {
    problems.add(
        "map.terrain: expected each of the letters 0 1 a b once: start positions are not drawn on "
        "a "
        "map with terrain");
  }
}

// Meaning of the keys together.
void check_together(Book& book, Problems& problems) {
  const Numbers& n = book.numbers;
  const EngineRules& e = n.engine;
  const auto name = [&](int t) { return book.names[static_cast<std::size_t>(t)]; };
  if (n.start_positions.base == n.start_positions.resource) {
    problems.add("roles.resource = " + quoted(name(n.start_positions.resource)) +
                 ": expected another type than roles.base");
  }
  for (int t = 0; t < e.types; ++t) {
    const UnitType& u = e.type[static_cast<std::size_t>(t)];
    const std::string p = "units." + name(t) + ".";
    if (u.builds != 0 && !u.takes(Cmd::build)) {
      problems.add(p + "accepts: expected build among them, because " + p + "builds is not empty");
    }
    if (u.takes(Cmd::build) && u.builds == 0) {
      problems.add(p + "builds: expected a type, because " + p + "accepts has build");
    }
    if ((u.builds >> n.start_positions.resource & 1) != 0) {
      problems.add(p + "builds: expected no " + name(n.start_positions.resource) +
                   ", which is the resource");
    }
  }
  for (std::size_t w = 0; w < book.wave_names.size(); ++w) {
    const BookWave& wave = n.wave[w];
    if (wave.x > static_cast<float>(e.side - 1) || wave.y > static_cast<float>(e.side - 1)) {
      problems.add("waves." + book.wave_names[w] + ": expected x and y on the map, in [0, " +
                   std::to_string(e.side - 1) + "]");
    }
  }
  for (const BookBot& bot : book.bots) {
    for (const std::uint16_t wish : {bot.builds, bot.trains}) {
      const auto never = static_cast<std::uint16_t>(wish & ~book.buildable);
      if (never == 0) continue;
      problems.add("bots." + bot.name + ": no type builds " + name(std::countr_zero(never)));
    }
  }
}

void compile(Book& book) {
  EngineRules& e = book.numbers.engine;
  for (int t = 0; t < e.types; ++t) {
    const UnitType& u = e.type[static_cast<std::size_t>(t)];
    const auto bit = static_cast<std::uint16_t>(1U << t);
    if (u.takes(Cmd::gather)) book.gatherers |= bit;
    if (u.takes(Cmd::attack) && !u.takes(Cmd::gather) && !u.building) book.troops |= bit;
    book.buildable |= u.builds;
  }
  for (int t = 0; t < e.types; ++t) {
    if ((book.buildable >> t & 1) != 0) book.build_menu.push_back(t);
  }
  e.base_type = book.numbers.start_positions.base;
  book.first_decision = book.clean ? 0 : 3;
  e.quirks = Quirks{};
  if (!book.clean) return;
  e.quirks = clean_quirks();
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), out);
  return r.ec == std::errc() && r.ptr == text.data() + text.size();
}

void read_drawn(Book& book, const std::string& text, Problems& problems) {
  const std::vector<Field> fields = book_fields(book);
  std::vector<std::string> valid;
  for (const Field& f : fields) {
    if (f.may_vary) valid.push_back(f.key);
  }
  for (const Line& line : lines_of(text, problems)) {
    const std::string where = "randomise " + line.key;
    const auto it = std::ranges::find(fields, line.key, &Field::key);
    if (it == fields.end() || !it->may_vary) {
      problems.add(where + (it == fields.end() ? ": unknown key" : ": not a number that may vary") +
                   did_you_mean(line.key, valid));
      continue;
    }
    const std::size_t comma = line.value.find(',');
    double low = 0.0;
    double high = 0.0;
    const std::string_view v = line.value;
    const bool two = comma != std::string::npos && parse_number(trim(v.substr(0, comma)), low) &&
                     parse_number(trim(v.substr(comma + 1)), high);
    const bool whole = it->kind != FieldKind::integer ||
                       (low == static_cast<double>(static_cast<std::int64_t>(low)) &&
                        high == static_cast<double>(static_cast<std::int64_t>(high)));
    if (!two || !(it->low <= low && low <= high && high <= it->high) || !whole) {
      problems.add(where + " = " + quoted(line.value) +
                   ": expected low, high with low <= high, each " + it->expected());
      continue;
    }
    const double unit = it->storage == Drawn::Kind::u16 ? 100.0 : 1.0;  // percent
    book.drawn.push_back({line.key, it->offset, it->storage, low * unit, high * unit});
  }
}

}  // namespace

Book read_book(const std::string& given, const std::string& randomise) {
  if (given.size() > kMaxBookBytes || randomise.size() > kMaxBookBytes) {
    throw ParamError("rts.rulebook: " + std::to_string(std::max(given.size(), randomise.size())) +
                     " bytes: expected at most " + std::to_string(kMaxBookBytes));
  }
  std::string text = given;
  if (given.find_first_of("=\n") == std::string::npos) {
    text = builtin_book(given);
    if (text.empty()) {
      throw ParamError("rts.rulebook = " + quoted(given) + ": no such rulebook" +
                       did_you_mean(given, builtin_books()));
    }
  }
  Problems problems;
  const std::vector<Line> lines = with_base(lines_of(text, problems), problems);
  Book book;
  std::vector<std::string> bots;
  for (const Line& line : lines) {
    collect(line.key, "units.", kMaxTypes, "unit type", book.names, problems);
    collect(line.key, "waves.", kMaxWaves, "wave", book.wave_names, problems);
    collect(line.key, "bots.", kMaxBookBots, "bot", bots, problems);
  }
  if (book.names.size() < 2) {
    problems.add("units: expected at least two types, a base and a resource");
    problems.finish();
  }
  for (const std::string& b : bots) {
    if (b == "random" || b == "noop" || b == "uniform") {
      problems.add("bots." + b + ": every game has this bot; expected another name");
    }
    book.bots.push_back({.name = b});
  }
  book.numbers.engine.types = static_cast<int>(book.names.size());
  book.numbers.waves = static_cast<std::int32_t>(book.wave_names.size());
  book.numbers.start_positions.resource = 1;
  for (const Line& line : lines) {
    const auto it = std::ranges::find(book.names, name_in(line.key, "start.units."));
    const int t = static_cast<int>(it - book.names.begin());
    if (it != book.names.end() &&
        std::ranges::find(book.start_order, t) == book.start_order.end()) {
      book.start_order.push_back(t);
    }
  }
  assign_all(book, lines, problems);
  problems.finish();
  compile(book);
  read_terrain(book, problems);
  check_together(book, problems);
  read_drawn(book, randomise, problems);
  problems.finish();
  return book;
}

std::string print_book(const Book& book) {
  Book copy = book;
  std::string text;
  for (const Field& f : book_fields(copy)) {
    const bool plain = f.key.starts_with("attack.") && f.print() == "1";
    const bool empty = f.key == "map.terrain" && book.terrain.empty();
    const bool none = f.key.starts_with("start.units.") && f.print() == "0";
    if (!plain && !empty && !none) text += f.key + "=" + f.print() + "\n";
  }
  return text;
}

std::vector<std::string> builtin_books() {
  std::vector<std::string> names;
  for (const BuiltinBook& b : kBuiltinBooks) names.emplace_back(b.name);
  return names;
}

std::string builtin_book(const std::string& name) {
  for (const BuiltinBook& b : kBuiltinBooks) {
    if (name == b.name) return b.text;
  }
  return {};
}

}  // namespace ludus::rts
