// MOBA gives both teams the same game: a match with its teams exchanged agrees to the last tick,
// bit by bit, and which team has which side and acts first is drawn, and counted here.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "game/mask.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/moba/moba.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/exchanged.hpp"

namespace ludus {
using namespace tests;

namespace {

using G = Moba;
constexpr int kSimple = 0, kPush = 1, kNoop = 3;
constexpr int kUniform = -1;  // random legal decisions, the same in both matches

bool same_hero(const rts::Hero& a, const rts::Hero& b) {
  return a.gold == b.gold && a.spent == b.spent && a.xp == b.xp && a.mana == b.mana &&
         a.level == b.level && a.tier == b.tier && a.kills == b.kills && a.deaths == b.deaths &&
         a.helps == b.helps && a.last_hits == b.last_hits && a.ready == b.ready &&
         a.hurt_by_until == b.hurt_by_until && a.stunned_until == b.stunned_until &&
         a.slowed_until == b.slowed_until && a.back_at == b.back_at && a.goal == b.goal &&
         a.goal_x == b.goal_x && a.goal_y == b.goal_y && a.alive() == b.alive();
}

// A match, and the same one with its teams exchanged.
class Pair {
 public:
  explicit Pair(int heroes)
      : rules_(G::make_rules(Params{{"heroes", std::to_string(heroes)}})),
        spec_(G::spec(rules_)),
        layout_(spec_) {
    for (std::vector<std::uint8_t>& m : mask_) m.resize(spec_.mask_bytes());
    for (auto& tensors : tensor_) {
      for (const TensorSpec& t : spec_.observation) tensors.emplace_back(t.bytes());
    }
  }

  // Plays to the end, or until the matches part. `who`: the controller of each team of the first.
  void play(std::array<int, 2> who, std::uint64_t match) {
    G::reset(rules_, a_, {.seed = 41, .match = match});
    G::copy(rules_, b_, a_);
    b_.world = exchanged(rules_.engine, a_.world);
    for (int seat = 0; seat < rules_.seats(); ++seat) {
      rts::Hero& h = b_.hero[at(other(seat))];
      h = a_.hero[at(seat)];
      h.slot = slot_of_other(rules_.engine, h.slot);
    }
    while (!a_.world.over && agree()) {
      if (a_.world.tick % 10 == 0) {
        for (int seat = 0; seat < rules_.seats(); ++seat) {
          if (!looks_the_same(seat)) return;
          decide(seat, who[at(rules_.team_of(seat))]);
        }
      }
      G::advance(rules_, a_);
      G::advance(rules_, b_);
    }
  }

  [[nodiscard]] bool agree() const {
    const rts::State& a = a_.world;
    const rts::State& b = b_.world;
    if (a.tick != b.tick || a.over != b.over || a.bullets != b.bullets) return false;
    if (b.winner != (a.winner < 0 ? -1 : 1 - a.winner)) return false;
    std::array<float, 6> mine{};
    std::array<float, 6> theirs{};
    G::rewards(rules_, a_, mine);
    G::rewards(rules_, b_, theirs);
    for (int seat = 0; seat < rules_.seats(); ++seat) {
      if (!same_hero(a_.hero[at(seat)], b_.hero[at(other(seat))])) return false;
      if (mine[at(seat)] != theirs[at(other(seat))]) return false;
    }
    for (int team = 0; team < rts::kTeams; ++team) {
      if (a.units[at(team)] != b.units[at(1 - team)]) return false;
      bool same = true;
      rts::for_units(rules_.engine, a, team, [&](int i) {
        const int k = slot_of_other(rules_.engine, i);
        same = same && a.x[i] == b.x[k] && a.y[i] == b.y[k] && a.hp[i] == b.hp[k] &&
               a.type[i] == b.type[k] && a.cmd[i] == b.cmd[k] && a.speed[i] == b.speed[k];
      });
      if (!same) return false;
    }
    return true;
  }
  [[nodiscard]] bool over() const { return a_.world.over; }
  [[nodiscard]] unsigned tick() const { return a_.world.tick; }
  [[nodiscard]] int winner() const { return a_.world.winner; }

 private:
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  [[nodiscard]] int other(int seat) const { return (seat + rules_.heroes) % rules_.seats(); }

  // A seat sees, and may do, what the other team's seat of its number does in the other match.
  bool looks_the_same(int seat) {
    look(a_, seat, 0);
    look(b_, other(seat), 1);
    return mask_[0] == mask_[1] && tensor_[0] == tensor_[1];
  }
  void look(const G::State& s, int seat, std::size_t k) {
    std::vector<std::byte*> out;
    for (std::vector<std::byte>& t : tensor_[k]) out.push_back(t.data());
    G::observe(rules_, s, seat, out);
    G::legal(rules_, s, seat, mask_[k].data());
  }

  void decide(int seat, int who) {
    if (who != kUniform) {
      G::bot(rules_, a_, seat, who);
      G::bot(rules_, b_, other(seat), who);
      return;
    }
    std::array<std::int32_t, kMaxHeads> action{};
    const auto drawn = std::span(action).first(spec_.heads.size());
    layout_.draw(mask_[0].data(), rng_, drawn);
    G::act(rules_, a_, seat, drawn);
    G::act(rules_, b_, other(seat), drawn);
  }

  G::Rules rules_;
  GameSpec spec_;
  MaskLayout layout_;
  G::State a_{}, b_{};
  std::array<std::vector<std::uint8_t>, 2> mask_;
  std::array<std::vector<std::vector<std::byte>>, 2> tensor_;
  Rng rng_{{6, 7}, 0};
};

TEST_CASE("moba: a match with its teams exchanged agrees to the last tick") {
  for (const int heroes : {1, 2, 3}) {
    Pair pair(heroes);
    std::array<int, 3> won{};
    for (const std::array<int, 2> who :
         {std::array{kSimple, kSimple}, std::array{kSimple, kPush}, std::array{kPush, kPush},
          std::array{kUniform, kSimple}, std::array{kUniform, kUniform},
          std::array{kPush, kNoop}}) {
      for (std::uint64_t match = 0; match < 4; ++match) {
        INFO(heroes, " heroes, ", who[0], " against ", who[1], ", match ", match);
        pair.play(who, match);
        INFO("they part at tick ", pair.tick());
        REQUIRE(pair.agree());
        REQUIRE(pair.over());
        CHECK(pair.tick() > 500);
        ++won[static_cast<std::size_t>(1 + pair.winner())];
      }
    }
    CHECK(won[1] > 0);  // either team wins some of them
    CHECK(won[2] > 0);
  }
}

TEST_CASE("moba: sides, who acts first and where a wave stands are drawn evenly") {
  const G::Rules rules = G::make_rules({});
  G::State s{};
  constexpr int kMatches = 1000;
  int turned = 0;
  int first = 0;
  std::array<std::array<int, 5>, rts::kTeams> stands{};  // rows of a wave's first creep
  for (std::uint64_t match = 0; match < kMatches; ++match) {
    G::reset(rules, s, {.seed = 8, .match = match});
    turned += s.world.turned ? 1 : 0;
    for (int team = 0; team < rts::kTeams; ++team) {
      const auto hero = s.hero[static_cast<std::size_t>(team * rules.heroes)];
      CHECK(rules.seen(s.world, team, s.world.x[hero.slot]) == rts::kFountainX);
    }
    while (static_cast<int>(s.world.tick) <= rules.waves.first) G::advance(rules, s);
    for (int tick = 0; tick < rts::kTieBreakTicks; ++tick) {
      rts::State at = s.world;
      at.tick = static_cast<std::uint32_t>(tick);
      first += (rts::late_slots(rules.engine, at) & 1) == 0 ? 1 : 0;
    }
    for (int team = 0; team < rts::kTeams; ++team) {
      int creep = rts::kNone;
      rts::for_units(rules.engine, s.world, team, [&](int i) {
        if (creep == rts::kNone && rts::is_creep(s.world.type[i])) creep = i;
      });
      REQUIRE(creep != rts::kNone);
      const float beside = rules.seen(s.world, team, s.world.y[creep]) - rules.lane();
      const int row = static_cast<int>(beside / 0.8F + 2.5F);
      REQUIRE(row >= 0);
      REQUIRE(row < 5);
      ++stands[static_cast<std::size_t>(team)][static_cast<std::size_t>(row)];
    }
  }
  // Four standard errors.
  CHECK(std::abs(turned - kMatches / 2) < 64);
  CHECK(std::abs(first - 16 * kMatches) < 358);
  for (const auto& of_team : stands) {
    for (const int times : of_team) CHECK(std::abs(times - kMatches / 5) < 51);
  }
}

}  // namespace
}  // namespace ludus
