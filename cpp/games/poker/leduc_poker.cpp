#include "games/poker/leduc_poker.hpp"

#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "game/turns.hpp"

namespace ludus {
namespace {

using L = LeducPoker;

enum Bot : int { kRandom, kCall };
enum Choice : int { kFold, kCallChoice, kRaise };

bool over(const L::State& s) { return s.folded >= 0 || s.round == L::kRounds; }

std::size_t at(int seat) { return static_cast<std::size_t>(seat); }

// A fold needs a bet to fold to; two raises a round.
bool legal_choice(const L::State& s, int choice) {
  if (choice == kFold) return s.paid[s.to_move] < s.paid[1U - s.to_move];
  return choice == kCallChoice || s.raises < 2;
}

// A pair with the public card wins, else the higher rank. -1: no one.
int winner(const L::State& s) {
  if (s.folded >= 0) return 1 - s.folded;
  const int shared = s.card[2] / 2;
  const int one = s.card[0] / 2, other = s.card[1] / 2;
  if (one == other) return -1;
  if (one == shared) return 0;
  if (other == shared) return 1;
  return one > other ? 0 : 1;
}

float chips(const L::State& s) {  // to seat 0
  const int won = winner(s);
  if (won < 0) return 0.0F;
  return won == 0 ? static_cast<float>(s.paid[1]) : -static_cast<float>(s.paid[0]);
}

}  // namespace

L::Rules L::make_rules(const Params& params) {
  params.check(kName, {});
  return {};
}

GameSpec L::spec(const Rules&) {
  GameSpec s = spec_of_turns(kName, "Leduc poker");
  s.perfect_information = false;
  s.max_ticks = kRounds * kMaxActions;
  s.observation = {{.name = "information_state",
                    .dtype = DType::bits,
                    .shape = {30},
                    .low = 0.0,
                    .high = 1.0,
                    .meaning =
                        "everything that the seat knows: seat (2), own card (6), public card "
                        "(6), then call or raise for each of four decisions of two rounds",
                    .labels = {}}};
  s.heads = {{.name = "choice",
              .size = 3,
              .labels = {"fold", "call", "raise"},
              .depends_on = {},
              .meaning = "fold only to a bet; at most two raises a round"}};
  s.bots = {{"random", "every legal choice equally often"}, {"call", "always calls"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning =
      "Each seat antes one chip and gets one of six cards (three ranks, two suits). Two rounds of "
      "betting, raises of 2 and of 4 chips; a public card before the second. A pair with it wins, "
      "else the higher rank. The reward is in chips.";
  return s;
}

void L::reset(const Rules&, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, 0);
  std::array<std::uint8_t, kCards> deck{0, 1, 2, 3, 4, 5};
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::swap(deck[i], deck[i + s.rng.below(kCards - i)]);
    s.card[i] = deck[i];
  }
  s.paid = {1, 1};
}

SeatMask L::to_act(const Rules&, const State& s) { return over(s) ? 0 : SeatMask{1} << s.to_move; }

void L::act(const Rules&, State& s, int seat, std::span<const std::int32_t> action) {
  check_turn(kName, over(s), seat, s.to_move);
  const std::int32_t choice = check_choice(kName, "choice", action, 3);
  if (!legal_choice(s, choice)) {
    throw GameError(choice == kFold ? "leduc_poker: there is no bet to fold to"
                                    : "leduc_poker: the round has had two raises");
  }
  s.chosen = static_cast<std::int8_t>(choice);
}

void L::bot(const Rules&, State& s, int seat, int bot) {
  if (over(s) || seat != s.to_move) return;
  std::array<std::int8_t, 3> choices{};
  std::uint32_t n = 0;
  for (int c = 0; c < 3; ++c) {
    if (legal_choice(s, c)) choices[n++] = static_cast<std::int8_t>(c);
  }
  s.chosen = bot == kCall ? static_cast<std::int8_t>(kCallChoice) : choices[s.rng.below(n)];
}

void L::bot_choice(const Rules& rules, State& s, int seat, int bot,
                   std::span<std::int32_t> action) {
  choose_by_bot<L>(rules, s, seat, bot, action);
}

void L::advance(const Rules&, State& s) {
  if (over(s)) return;
  check_decided(kName, s.chosen, s.to_move);
  const int choice = s.chosen;
  std::uint8_t& length = s.length[s.round];
  const std::uint8_t other = s.paid[1U - s.to_move];
  bool ended = false;  // the round
  if (choice == kFold) {
    s.folded = static_cast<std::int8_t>(s.to_move);
  } else if (choice == kRaise) {
    s.paid[s.to_move] = static_cast<std::uint8_t>(other + (s.round == 0 ? 2 : 4));
    s.raised[s.round] = static_cast<std::uint8_t>(s.raised[s.round] | 1U << length);
    ++s.raises;
  } else {
    ended = length > 0;
    s.paid[s.to_move] = other;
  }
  ++length;
  s.to_move ^= 1;
  if (ended) {
    ++s.round;
    s.to_move = 0;
    s.raises = 0;
  }
  s.chosen = -1;
  ++s.tick;
}

Status L::status(const Rules&, const State& s) { return {.over = over(s), .truncated = false}; }

void L::rewards(const Rules&, const State& s, std::span<float> out) {
  out[0] = over(s) ? chips(s) : 0.0F;
  out[1] = -out[0];
}

void L::outcome(const Rules&, const State& s, std::span<float> out) { pay_winner(winner(s), out); }

void L::observe(const Rules&, const State& s, int seat, std::span<std::byte* const> tensors) {
  std::uint32_t bits = 1U << seat | 1U << (2 + s.card[at(seat)]);
  if (s.round > 0) bits |= 1U << (8 + s.card[2]);
  for (unsigned r = 0; r < kRounds; ++r) {
    for (unsigned i = 0; i < s.length[r]; ++i) {
      // A fold ends the match and stands nowhere.
      if (s.folded >= 0 && r == s.round && i + 1U == s.length[r]) continue;
      bits |= 1U << (14 + 8 * r + 2 * i + (s.raised[r] >> i & 1U));
    }
  }
  for (int i = 0; i < 4; ++i) tensors[0][i] = static_cast<std::byte>(bits >> (8 * i) & 0xffU);
}

void L::legal(const Rules&, const State& s, int seat, std::uint8_t* mask) {
  for (int c = 0; c < 3; ++c) {
    mask[c] = over(s) || seat != s.to_move || legal_choice(s, c) ? 1 : 0;
  }
}

std::uint64_t L::hash(const Rules&, const State& s) {
  Hash64 h;
  for (const std::uint8_t c : s.card) h.add(c);
  h.add(s.round);
  for (std::size_t r = 0; r < kRounds; ++r) h.add(std::uint64_t{s.length[r]} << 8 | s.raised[r]);
  h.add(std::uint64_t{s.paid[0]} << 8 | s.paid[1]);
  h.add(s.to_move);
  h.add(static_cast<std::uint64_t>(s.folded + 1));
  h.add(static_cast<std::uint64_t>(s.chosen + 1));
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string L::view(const Rules&, const State& s) {
  static constexpr std::array<const char*, 2> kNames = {"call", "raise"};
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("over", over(s)).field("round", s.round);
  j.field("folded", s.folded).key("cards").open('[');
  for (const std::uint8_t c : s.card) j.value(static_cast<int>(c));
  j.close(']').key("paid").open('[');
  for (const std::uint8_t p : s.paid) j.value(static_cast<int>(p));
  j.close(']').key("rounds").open('[');
  for (std::size_t r = 0; r < kRounds; ++r) {
    j.open('[');
    for (unsigned i = 0; i < s.length[r]; ++i) {
      const bool fold = s.folded >= 0 && r == s.round && i + 1U == s.length[r];
      j.value(fold ? "fold" : kNames[s.raised[r] >> i & 1U]);
    }
    j.close(']');
  }
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
