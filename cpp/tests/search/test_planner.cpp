// Planning for one seat among bots: how often the others decide, and whose won matches are kept.
#include <array>
#include <string>

#include "base/hash.hpp"
#include "search/planner.hpp"
#include "tests/doctest.hpp"

using namespace ludus;

namespace {

// Twelve ticks at which both seats may decide. A seat wins by choosing its own number first, or,
// where `asked` is given, every seat wins if bots decided so often.
struct Duel {
  static constexpr const char* kName = "duel";
  struct Rules {
    int asked = -1;
  };
  struct State {
    std::array<std::int32_t, 2> chosen{-1, -1};
    std::uint32_t tick = 0;
    std::int32_t asked = 0;
  };
  static std::vector<ParamSpec> declared() {
    ParamSpec p;
    p.name = "asked";
    p.default_value = "-1";
    p.low = -1;
    p.high = 100;
    return {p};
  }
  static Rules make_rules(const Params& params) {
    return {static_cast<int>(params.integer("asked", declared()))};
  }
  static GameSpec spec(const Rules&) {
    GameSpec s;
    s.name = s.title = kName;
    s.seats = 2;
    s.max_ticks = 12;
    s.heads.resize(1);
    s.heads[0].name = "number";
    s.heads[0].size = 2;
    s.params = declared();
    s.bots = {{"counted", ""}};
    return s;
  }
  static void reset(const Rules&, State& s, MatchSeed) { s = State{}; }
  static SeatMask to_act(const Rules&, const State&) { return 3; }
  static void act(const Rules&, State& s, int seat, std::span<const std::int32_t> action) {
    std::int32_t& first = s.chosen[static_cast<std::size_t>(seat)];
    if (first < 0) first = action[0];
  }
  static void bot(const Rules&, State& s, int, int) { ++s.asked; }
  static void advance(const Rules&, State& s) { ++s.tick; }
  static std::uint32_t tick(const State& s) { return s.tick; }
  static Status status(const Rules&, const State& s) { return {.over = s.tick >= 12}; }
  static void rewards(const Rules& r, const State& s, std::span<float> out) { outcome(r, s, out); }
  static void outcome(const Rules& r, const State& s, std::span<float> out) {
    for (int seat = 0; seat < 2; ++seat) {
      const auto i = static_cast<std::size_t>(seat);
      out[i] = (r.asked < 0 ? s.chosen[i] == seat : s.asked == r.asked) ? 1.0F : -1.0F;
    }
  }
  static void observe(const Rules&, const State&, int, std::span<std::byte* const>) {}
  static void legal(const Rules&, const State&, int, std::uint8_t* mask) { mask[0] = mask[1] = 1; }
  static std::uint64_t hash(const Rules&, const State& s) {
    Hash64 h;
    h.add(s.tick);
    h.add(static_cast<std::uint64_t>(s.chosen[0] + 2 * s.chosen[1] + 8));
    return h.value();
  }
  static std::string view(const Rules&, const State&) { return "{}"; }
};
static_assert(Game<Duel>);

std::span<const std::byte> bytes(const Duel::State& s) { return std::as_bytes(std::span(&s, 1)); }

}  // namespace

TEST_CASE("planner: the others decide at their own frame skip") {
  const Duel::State start{};
  // Ticks 0, 3, 6 and 9 of twelve, or 0 and 6; the planned seat decides at 0, 4 and 8.
  for (const auto& [skip, asked] : {std::pair{3, "4"}, {6, "2"}, {1, "12"}, {12, "1"}}) {
    CAPTURE(skip);
    PlannerOf<Duel> planner(
        Params({{"asked", asked}}),
        {.trees = 1, .rollouts = 20, .frame_skip = 4, .opponent = 0, .opponent_skip = skip});
    const PlanReport r = planner.plan(bytes(start), 0, 1);
    REQUIRE(r.visits[static_cast<std::size_t>(r.choice)] > 0);
    CHECK(r.mean[static_cast<std::size_t>(r.choice)] == 1.0F);
  }
}

TEST_CASE("planner: a kept win belongs to the seat that planned it") {
  const Duel::State start{};
  PlannerOf<Duel> planner(Params(), {.trees = 2,
                                     .rollouts = 50,
                                     .frame_skip = 4,
                                     .opponent = 0,
                                     .opponent_skip = 4,
                                     .keep_wins = true});
  for (int again = 0; again < 2; ++again) {
    for (int seat = 0; seat < 2; ++seat) {
      const PlanReport r = planner.plan(bytes(start), seat, 3);
      CHECK(r.choice == seat);
      CHECK((r.ticks == 0) == (again == 1));  // the second time it is known without a rollout
    }
  }
}
