#include "games/rts/rulebook/rts.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/view.hpp"
#include "games/rts/rulebook/observe.hpp"
#include "games/rts/rulebook/orders.hpp"
#include "games/rts/rulebook/start.hpp"

namespace ludus {

namespace {

using rts::kStartSeats;

constexpr std::uint64_t kStream = 1;  // as in MiniRTS: the same rulebook starts the same match
constexpr std::uint64_t kDrawStream = 2;

std::vector<ParamSpec> params_of() {
  return {
      {"rulebook",
       ParamKind::text,
       "extended",
       0,
       0,
       {},
       "the rules: the name of a built-in rulebook, the path of a TOML file, or lines key=value"},
      {"randomise",
       ParamKind::text,
       "",
       0,
       0,
       {},
       "numbers of the rules that every match draws: lines key=low,high"},
      rts::pixels_param(),
      rts::commands_param(
          "what a decision is: strategic: one order to the whole side; tactical: a purchase or a "
          "manoeuvre of a group; units: one order to one unit"),
  };
}

std::vector<HeadSpec> heads_of(const Rts::Rules& rules) {
  const rts::Book& book = rules.book;
  if (rules.commands == rts::Commands::units) {
    return rts::unit_heads(rts::unit_game(book, book.engine()), book.names);
  }
  if (rules.commands == rts::Commands::tactical) {
    std::vector<std::string> bought;
    for (const int t : book.build_menu) bought.push_back(book.names[static_cast<std::size_t>(t)]);
    return rts::tactical_heads(rts::tactical_game(book, book.engine()), bought,
                               {"gatherers", "close_troops", "far_troops", "troops"});
  }
  HeadSpec head;
  head.name = "strategy";
  head.size = rts::choices(book);
  head.labels = rts::choice_labels(book);
  head.meaning = "an order to the whole side; every choice also sends idle gatherers to work";
  head.lenient = true;
  return {head};
}

// Earnings of a tick: deaths and income, as BookRewards counts them.
struct Ledger {
  std::array<std::uint16_t, rts::kSlots> id;
  std::array<std::uint8_t, rts::kSlots> type;
  std::array<std::uint8_t, kStartSeats> units;
  std::array<std::int32_t, kStartSeats> money;

  explicit Ledger(const rts::State& w) : id(w.id), type(w.type) {
    for (std::size_t s = 0; s < kStartSeats; ++s) {
      units[s] = w.units[s];
      money[s] = w.money[s];
    }
  }

  // The cost of the seat's units that are gone since.
  [[nodiscard]] std::int32_t fallen(const rts::EngineRules& e, const rts::State& w,
                                    int seat) const {
    std::int32_t cost = 0;
    const int begin = e.first_slot[static_cast<std::size_t>(seat)];
    int now = begin;
    const int end = begin + w.units[static_cast<std::size_t>(seat)];
    for (int i = begin; i < begin + units[static_cast<std::size_t>(seat)]; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (now < end && w.id[static_cast<std::size_t>(now)] == id[k]) {
        ++now;
      } else {
        cost += e.type[type[k]].cost;
      }
    }
    return cost;
  }
};

int stronger(const rts::EngineRules& e, const rts::State& w) {
  std::array<std::int64_t, kStartSeats> value{};
  for (int seat = 0; seat < kStartSeats; ++seat) {
    rts::for_units(e, w, seat, [&](int i) {
      value[static_cast<std::size_t>(seat)] += e.type[w.type[static_cast<std::size_t>(i)]].cost;
    });
  }
  return value[0] == value[1] ? -1 : (value[0] > value[1] ? 0 : 1);
}

// Kind of a type for a viewer.
const char* role_of(const rts::Book& book, int t) {
  if (t == book.numbers.start_positions.resource) return "resource";
  if (t == book.numbers.start_positions.base) return "base";
  if ((book.gatherers >> t & 1) != 0) return "worker";
  return book.engine().type[static_cast<std::size_t>(t)].building ? "building" : "troop";
}

// Winners that the engine does not know about: by money, and at the tick limit.
void find_winner(const rts::Book& book, Rts::State& s) {
  rts::State& w = s.world;
  const std::int32_t goal = s.numbers.money_to_win;
  if (goal > 0 && !w.over && (w.money[0] >= goal || w.money[1] >= goal)) {
    w.over = true;
    if (w.money[0] != w.money[1]) w.winner = w.money[0] > w.money[1] ? 0 : 1;
  }
  const bool limit = w.over && w.winner < 0 && w.tick > s.numbers.engine.tick_limit;
  if (!limit) return;
  switch (book.at_limit) {
    case rts::AtLimit::draw:
      break;
    case rts::AtLimit::seat_0:
      w.winner = 0;
      break;
    case rts::AtLimit::seat_1:
      w.winner = 1;
      break;
    case rts::AtLimit::richer:
      if (w.money[0] != w.money[1]) w.winner = w.money[0] > w.money[1] ? 0 : 1;
      break;
    case rts::AtLimit::stronger:
      w.winner = static_cast<std::int8_t>(stronger(s.numbers.engine, w));
      break;
  }
}

}  // namespace

Rts::Rules Rts::make_rules(const Params& params) {
  const std::vector<ParamSpec> declared = params_of();
  params.check(kName, declared);
  Rules rules;
  rules.book =
      rts::read_book(params.text("rulebook", declared), params.text("randomise", declared));
  rules.commands = rts::read_commands(params, declared);
  rules.book.pixels = static_cast<int>(params.integer("pixels", declared));
  return rules;
}

GameSpec Rts::spec(const Rules& rules) {
  const rts::Book& book = rules.book;
  GameSpec spec;
  spec.name = kName;
  spec.title = book.title;
  spec.version = rts::rules_version(book.engine());
  spec.seats = kStartSeats;
  spec.default_frame_skip = book.frame_skip;
  spec.max_ticks = static_cast<int>(book.engine().tick_limit) + 1;
  spec.observation = rts::book_tensors(book);
  spec.heads = heads_of(rules);
  spec.params = params_of();
  for (const rts::BookBot& b : book.bots) {
    spec.bots.push_back({b.name, "a bot of the rulebook"});
  }
  spec.bots.push_back({"random", "draws among all choices, also those that do nothing"});
  spec.bots.push_back({"noop", "never decides anything"});
  spec.meaning = "a real-time strategy game that its rulebook describes";
  return spec;
}

void Rts::reset(const Rules& rules, State& s, MatchSeed seed) {
  std::memcpy(&s.numbers, &rules.book.numbers, sizeof s.numbers);
  Rng draws(seed, kDrawStream);
  rts::draw_numbers(rules.book, draws, s.numbers);
  Hash64 h;
  for (const rts::Drawn& d : rules.book.drawn) {
    const auto* bytes = reinterpret_cast<const char*>(&s.numbers) + d.offset;
    h.add_bytes(bytes, d.kind == rts::Drawn::Kind::u16 ? 2 : 4);
  }
  s.drawn = h.value();
  s.rng = Rng(seed, kStream);
  s.earned.fill(0.0F);
  rts::place_start(rules.book, s.numbers, s.world, s.rng);
  rts::draw_turn(s.numbers.engine, s.world, s.rng);
  s.tables.clear();
}

void Rts::copy(const Rules&, State& to, const State& from) {
  rts::copy_world(to.world, from.world);
  std::memcpy(&to.numbers, &from.numbers, sizeof to.numbers);
  to.rng = from.rng;
  to.drawn = from.drawn;
  to.earned = from.earned;
  to.tables.clear();
}

SeatMask Rts::to_act(const Rules& rules, const State& s) {
  return s.world.tick >= rules.book.first_decision && !s.world.over ? 3U : 0U;
}

void Rts::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  const bool acts = (to_act(rules, s) >> seat & 1U) != 0;
  const rts::EngineRules& engine = s.numbers.engine;
  if (rules.commands == rts::Commands::units) {
    if (acts) rts::order_unit(rts::unit_game(rules.book, engine), s.world, seat, action);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    if (!acts) return;
    const rts::TacticalGame game = rts::tactical_game(rules.book, engine);
    const rts::TacticalOrder order = rts::read_tactical_order(
        game, s.world, seat, rts::useful_choices(rules.book, engine, s.world, seat), action);
    rts::act_choices(rules.book, engine, s.world, seat, 1U << order.purchase);
    rts::give_tactical_order(game, s.world, order);
    return;
  }
  const std::int32_t choice = action[0];
  const int n = rts::choices(rules.book);
  if (choice < 0 || choice >= n) {
    throw GameError("rts: strategy = " + std::to_string(choice) + ": expected an integer in [0, " +
                    std::to_string(n - 1) + "]");
  }
  if (acts) rts::act_choices(rules.book, engine, s.world, seat, 1U << choice);
}

void Rts::bot(const Rules& rules, State& s, int seat, int bot) {
  const int own = static_cast<int>(rules.book.bots.size());
  if (bot < 0 || bot >= own + 2) {
    throw GameError("rts: bot " + std::to_string(bot) + ": expected an integer in [0, " +
                    std::to_string(own + 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  if (bot < own) {
    rts::play_bot(rules.book, s.numbers.engine, rules.book.bots[static_cast<std::size_t>(bot)],
                  s.world, seat);
  } else if (bot == own) {
    const auto n = static_cast<std::uint32_t>(rts::choices(rules.book));
    rts::act_choices(rules.book, s.numbers.engine, s.world, seat, 1U << s.rng.below(n));
  }
}

void Rts::advance(const Rules& rules, State& s) {
  if (s.world.over) return;
  const rts::EngineRules& engine = s.numbers.engine;
  const rts::BookRewards& r = s.numbers.rewards;
  rts::draw_tie_breaks(engine, s.world, s.rng);
  if (s.numbers.waves != 0) rts::send_waves(s.numbers, s.world);
  if (r.shaped()) {
    const Ledger before(s.world);
    rts::advance_tick(engine, s.world, rts::own_store(s.world, s.tables));
    std::array<float, kStartSeats> fallen{};
    for (int seat = 0; seat < kStartSeats; ++seat) {
      fallen[static_cast<std::size_t>(seat)] =
          static_cast<float>(before.fallen(engine, s.world, seat)) / 100.0F;
    }
    for (std::size_t seat = 0; seat < kStartSeats; ++seat) {
      const std::int32_t in = std::max(0, s.world.money[seat] - before.money[seat]);
      s.earned[seat] = r.tick + r.kill * fallen[1 - seat] + r.lost * fallen[seat] +
                       r.income * (static_cast<float>(in) / 100.0F);
    }
  } else {
    rts::advance_tick(engine, s.world, rts::own_store(s.world, s.tables));
  }
  find_winner(rules.book, s);
}

Status Rts::status(const Rules&, const State& s) { return {.over = s.world.over}; }

void Rts::rewards(const Rules&, const State& s, std::span<float> out) {
  const rts::BookRewards& r = s.numbers.rewards;
  for (int seat = 0; seat < kStartSeats; ++seat) {
    float& reward = out[static_cast<std::size_t>(seat)];
    reward = s.earned[static_cast<std::size_t>(seat)];
    if (!s.world.over) continue;
    const int winner = s.world.winner;
    reward += winner < 0 ? r.draw : (winner == seat ? r.win : r.loss);
  }
}

void Rts::outcome(const Rules&, const State& s, std::span<float> out) {
  for (int seat = 0; seat < kStartSeats; ++seat) {
    const int winner = s.world.over ? s.world.winner : -1;
    out[static_cast<std::size_t>(seat)] = winner < 0 ? 0.0F : (winner == seat ? 1.0F : -1.0F);
  }
}

void Rts::observe(const Rules& rules, const State& s, int seat,
                  std::span<std::byte* const> tensors) {
  rts::observe_book(rules.book, s.numbers.engine, s.world, seat, tensors);
}

void Rts::legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  const rts::EngineRules& engine = s.numbers.engine;
  if (rules.commands == rts::Commands::units) {
    rts::legal_unit_orders(rts::unit_game(rules.book, engine), s.world, seat, mask);
    return;
  }
  const rts::ChoiceSet useful = rts::useful_choices(rules.book, engine, s.world, seat);
  if (rules.commands == rts::Commands::tactical) {
    rts::legal_tactical_orders(rts::tactical_game(rules.book, engine), s.world, seat, useful, mask);
    return;
  }
  const int n = rts::choices(rules.book);
  for (int c = 0; c < n; ++c) mask[c] = static_cast<std::uint8_t>(useful >> c & 1);
}

std::uint64_t Rts::hash(const Rules& rules, const State& s) {
  Hash64 h;
  rts::hash_world(s.numbers.engine, s.world, h);
  if (!rules.book.drawn.empty()) h.add(s.drawn);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string Rts::view(const Rules& rules, const State& s) {
  std::vector<const char*> names;
  for (const std::string& n : rules.book.names) names.push_back(n.c_str());
  std::vector<const char*> roles;
  for (int t = 0; t < rules.book.types(); ++t) roles.push_back(role_of(rules.book, t));
  return rts::view_world(s.numbers.engine, s.world,
                         {.game = kName, .types = names, .roles = roles});
}

}  // namespace ludus
