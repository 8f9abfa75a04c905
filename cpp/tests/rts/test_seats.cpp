// Rules with random tie-breaking give both seats the same game: a match with its seats exchanged
// agrees to the last tick, and who has which place and who comes first is drawn, and counted here.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "game/mask.hpp"
#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/rulebook/rts.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/exchanged.hpp"

namespace ludus {
using namespace tests;

namespace {

// A controller: a bot by its number, or random legal decisions.
constexpr int kUniform = -1;

const rts::EngineRules& engine_of(const CaptureTheFlag::Rules& r, const CaptureTheFlag::State&) {
  return r.engine;
}
const rts::EngineRules& engine_of(const MiniRts::Rules& r, const MiniRts::State&) {
  return r.engine;
}
const rts::EngineRules& engine_of(const Rts::Rules&, const Rts::State& s) {
  return s.numbers.engine;
}

// Whether everything that seat 0 has is what seat 1 has in the other world, and the other way
// round.
bool same_moment(const rts::EngineRules& engine, const rts::State& a, const rts::State& b) {
  if (a.tick != b.tick || a.over != b.over || a.bullets != b.bullets) return false;
  if (b.winner != (a.winner < 0 ? -1 : 1 - a.winner)) return false;
  for (int owner = 0; owner < rts::kMaxOwners; ++owner) {
    const int other = owner == 2 ? 2 : 1 - owner;
    if (a.units[owner] != b.units[other] || a.money[owner] != b.money[other]) return false;
    bool same = true;
    rts::for_units(engine, a, owner, [&](int i) {
      const int k = slot_of_other(engine, i);
      same = same && a.x[i] == b.x[k] && a.y[i] == b.y[k] && a.hp[i] == b.hp[k] &&
             a.type[i] == b.type[k] && a.cmd[i] == b.cmd[k] && a.phase[i] == b.phase[k] &&
             a.start[i] == b.start[k] && a.speed[i] == b.speed[k] &&
             b.damaged_by[k] == slot_of_other(engine, a.damaged_by[i]);
      for (std::size_t c = 0; c < rts::kCooldowns; ++c) same = same && a.last[c][i] == b.last[c][k];
    });
    if (!same) return false;
  }
  return true;
}

// Plays two matches, the second with its seats exchanged.
template <Game G>
class Pair {
 public:
  explicit Pair(const Params& params)
      : rules_(G::make_rules(params)), spec_(G::spec(rules_)), layout_(spec_) {
    for (int k = 0; k < 2; ++k) mask_[k].resize(spec_.mask_bytes());
    for (const TensorSpec& t : spec_.observation) {
      for (int k = 0; k < 2; ++k) tensor_[k].emplace_back(t.bytes());
    }
  }

  // Seat 0 and seat 1 of the first match have the controllers; ticks that agreed.
  unsigned play(std::array<int, 2> who, unsigned skip, std::uint64_t match) {
    G::reset(rules_, *a_, {.seed = 40, .match = match});
    *b_ = *a_;
    b_->world = exchanged(engine_of(rules_, *a_), a_->world);
    while (!G::status(rules_, *a_).over) {
      if (G::tick(*a_) % skip == 0 && G::to_act(rules_, *a_) != 0) {
        for (int seat = 0; seat < 2; ++seat) {
          if (!looks_the_same(seat)) return G::tick(*a_);
        }
        const std::array<Action, 2> drawn = {draw(0), draw(1)};
        for (int seat = 0; seat < 2; ++seat) {
          decide(*a_, seat, who[static_cast<std::size_t>(seat)],
                 drawn[static_cast<std::size_t>(seat)]);
          decide(*b_, seat, who[static_cast<std::size_t>(1 - seat)],
                 drawn[static_cast<std::size_t>(1 - seat)]);
        }
      }
      G::advance(rules_, *a_);
      G::advance(rules_, *b_);
      if (!agree()) return G::tick(*a_);
    }
    return G::tick(*a_);
  }

  [[nodiscard]] bool agree() const {
    std::array<float, 2> mine{};
    std::array<float, 2> theirs{};
    G::rewards(rules_, *a_, mine);
    G::rewards(rules_, *b_, theirs);
    return mine[0] == theirs[1] && mine[1] == theirs[0] &&
           same_moment(engine_of(rules_, *a_), a_->world, b_->world);
  }
  [[nodiscard]] bool over() const { return G::status(rules_, *a_).over; }

 private:
  using Action = std::array<std::int32_t, kMaxHeads>;

  // Each seat sees, and may do, what the other one does in the other match.
  bool looks_the_same(int seat) {
    for (int k = 0; k < 2; ++k) {
      const typename G::State& s = k == 0 ? *a_ : *b_;
      const int who = k == 0 ? seat : 1 - seat;
      std::vector<std::byte*> out;
      for (std::vector<std::byte>& t : tensor_[k]) out.push_back(t.data());
      G::observe(rules_, s, who, out);
      G::legal(rules_, s, who, mask_[k].data());
      for (std::size_t t = 0; t < tensor_[k].size(); ++t) sort_rows(t, tensor_[k][t]);
    }
    return mask_[0] == mask_[1] && tensor_[0] == tensor_[1];
  }

  // The rows of `cells` stand in no order.
  void sort_rows(std::size_t tensor, std::vector<std::byte>& bytes) const {
    const TensorSpec& spec = spec_.observation[tensor];
    if (spec.name != "cells") return;
    const std::size_t size = spec.bytes() / static_cast<std::size_t>(spec.shape[0]);
    std::vector<std::vector<std::byte>> rows;
    for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(size)) {
      rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
    }
    std::ranges::sort(rows);
    auto to = bytes.begin();
    for (const std::vector<std::byte>& row : rows) to = std::ranges::copy(row, to).out;
  }

  Action draw(int seat) {
    Action action{};
    G::legal(rules_, *a_, seat, mask_[0].data());
    layout_.draw(mask_[0].data(), rng_, std::span(action).first(spec_.heads.size()));
    return action;
  }

  void decide(typename G::State& s, int seat, int who, const Action& drawn) {
    if (who == kUniform) {
      G::act(rules_, s, seat, std::span(drawn).first(spec_.heads.size()));
    } else {
      G::bot(rules_, s, seat, who);
    }
  }

  typename G::Rules rules_;
  GameSpec spec_;
  MaskLayout layout_;
  std::unique_ptr<typename G::State> a_ = std::make_unique<typename G::State>();
  std::unique_ptr<typename G::State> b_ = std::make_unique<typename G::State>();
  std::array<std::vector<std::uint8_t>, 2> mask_;
  std::array<std::vector<std::vector<std::byte>>, 2> tensor_;
  Rng rng_{{6, 6}, 0};
};

template <Game G>
void check_exchange(const Params& params, std::array<int, 2> who, unsigned skip, int matches) {
  Pair<G> pair(params);
  for (int m = 0; m < matches; ++m) {
    INFO(G::kName, " ", who[0], " against ", who[1], ", match ", m);
    const unsigned ticks = pair.play(who, skip, static_cast<std::uint64_t>(m));
    INFO("they part at tick ", ticks);
    REQUIRE(pair.over());
    REQUIRE(pair.agree());
    CHECK(ticks > 100);
  }
}

Params clean(const char* commands) {
  return Params({{"ruleset", "clean"}, {"commands", commands}});
}

TEST_CASE("seats: capture_the_flag with its seats exchanged agrees to the last tick") {
  using G = CaptureTheFlag;
  constexpr int kSimple = 0;
  check_exchange<G>(clean("strategic"), {kSimple, kSimple}, 50, 8);
  check_exchange<G>(clean("strategic"), {kSimple, kUniform}, 20, 4);
  check_exchange<G>(clean("tactical"), {kUniform, kSimple}, 25, 3);
  check_exchange<G>(clean("units"), {kUniform, kUniform}, 10, 2);
}

TEST_CASE("seats: minirts with its seats exchanged agrees to the last tick") {
  using G = MiniRts;
  constexpr int kSimple = 0;
  constexpr int kHitAndRun = 1;
  check_exchange<G>(clean("strategic"), {kSimple, kSimple}, 50, 8);
  check_exchange<G>(clean("strategic"), {kSimple, kHitAndRun}, 20, 8);
  check_exchange<G>(clean("tactical"), {kUniform, kSimple}, 25, 3);
  check_exchange<G>(clean("combined"), {kUniform, kSimple}, 25, 3);
  check_exchange<G>(clean("units"), {kUniform, kUniform}, 10, 2);
}

TEST_CASE("seats: a rulebook's game with its seats exchanged agrees to the last tick") {
  const char* walls =
      "extends=extended\nmap.side=12\nmap.terrain=............,.0a.........,............,.........."
      "..,"
      "...xxxx.....,............,............,.....xxxx...,............,............,.........b1.,"
      "............";
  for (const char* book : {"extended", walls}) {
    const int bots =
        static_cast<int>(Rts::spec(Rts::make_rules(Params({{"rulebook", book}}))).bots.size()) - 2;
    for (int bot = 0; bot < bots; ++bot) {
      check_exchange<Rts>(Params({{"rulebook", book}}), {bot, (bot + 1) % bots}, 50, 2);
      check_exchange<Rts>(Params({{"rulebook", book}}), {bot, bot}, 50, 1);
    }
    for (const char* commands : {"tactical", "units"}) {
      check_exchange<Rts>(Params({{"rulebook", book}, {"commands", commands}}), {kUniform, 0}, 20,
                          2);
    }
  }
}

TEST_CASE("seats: the original's order of seats is left where a ruleset keeps it") {
  Pair<CaptureTheFlag> pair(Params({{"ruleset", "elf"}}));
  (void)pair.play({0, 0}, 50, 0);
  CHECK(!(pair.over() && pair.agree()));
}

TEST_CASE("seats: places and turns are drawn, each as often as the other") {
  using G = CaptureTheFlag;
  const G::Rules rules = G::make_rules(clean("strategic"));
  const auto s = std::make_unique<G::State>();
  const int second = rules.engine.first_slot[1];
  int turned = 0;
  int first = 0;
  int left = 0;
  constexpr int kMatches = 1000;
  for (std::uint64_t match = 0; match < kMatches; ++match) {
    G::reset(rules, *s, {.seed = 8, .match = match});
    const rts::State& w = s->world;
    turned += w.turned ? 1 : 0;
    CHECK(w.x[0] == (w.turned ? 18.0F : 1.0F));
    CHECK(w.units[0] == w.units[1]);
    for (int i = 0; i < w.units[0]; ++i) {
      CHECK(w.x[i] == 19.0F - w.x[second + i]);
      CHECK(w.y[i] == w.y[second + i]);
    }
    G::advance(rules, *s);  // draws
    for (int tick = 0; tick < rts::kTieBreakTicks; ++tick) {
      s->world.tick = static_cast<std::uint32_t>(tick);
      first += (rts::late_slots(rules.engine, s->world) & 1) == 0 ? 1 : 0;
      left += rts::leftward(rules.engine, s->world) > 0 ? 1 : 0;
    }
  }
  // Four standard errors.
  CHECK(std::abs(turned - kMatches / 2) < 64);
  CHECK(std::abs(first - 16 * kMatches) < 358);
  CHECK(std::abs(left - 16 * kMatches) < 358);
}

template <Game G>
void check_tie_breaks(const Params& params) {
  const typename G::Rules rules = G::make_rules(params);
  const auto s = std::make_unique<typename G::State>();
  int turned = 0;
  int set = 0;
  for (std::uint64_t match = 0; match < 100; ++match) {
    G::reset(rules, *s, {.seed = 10, .match = match});
    turned += s->world.turned ? 1 : 0;
    std::uint64_t before = 0;
    for (int tick = 0; tick < 4 * rts::kTieBreakTicks; ++tick) {
      const bool draws = tick % rts::kTieBreakTicks == 0;
      G::advance(rules, *s);
      CHECK((s->world.tie_breaks != before) == draws);
      before = s->world.tie_breaks;
      if (draws) set += std::popcount(before);
    }
  }
  CHECK(std::abs(turned - 50) < 20);
  CHECK(std::abs(set - 200 * 64) < 4 * 80);
}

TEST_CASE("seats: every game draws tie-breaks for 32 ticks at a time") {
  check_tie_breaks<CaptureTheFlag>(clean("strategic"));
  check_tie_breaks<MiniRts>(clean("strategic"));
  check_tie_breaks<Rts>({});
}

TEST_CASE("seats: equal bots win equally often, from either seat and from either side") {
  using G = CaptureTheFlag;
  const G::Rules rules = G::make_rules(clean("strategic"));
  const auto s = std::make_unique<G::State>();
  constexpr int kMatches = 300;
  int by_seat = 0;
  int by_side = 0;
  for (std::uint64_t match = 0; match < kMatches; ++match) {
    G::reset(rules, *s, {.seed = 9, .match = match});
    while (!G::status(rules, *s).over) {
      if (G::tick(*s) % 50 == 0) {
        for (int seat = 0; seat < 2; ++seat) G::bot(rules, *s, seat, 0);
      }
      G::advance(rules, *s);
    }
    by_seat += s->world.winner == 0 ? 1 : 0;
    by_side += (s->world.winner == 0) != s->world.turned ? 1 : 0;
  }
  // Four standard errors; before random tie-breaking, seat 0 won 212 of 300.
  CHECK(std::abs(by_seat - kMatches / 2) < 36);
  CHECK(std::abs(by_side - kMatches / 2) < 36);
}

}  // namespace
}  // namespace ludus
