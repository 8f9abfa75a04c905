#include "games/poker/kuhn_poker.hpp"

#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "game/turns.hpp"

namespace ludus {
namespace {

using K = KuhnPoker;

enum Bot : int { kRandom, kEquilibrium };
enum Choice : int { kPass, kBet };

// pass-pass, bet-any, pass-bet-any.
bool over(const K::State& s) { return (s.length == 2 && s.bets != 0b10) || s.length == 3; }

// Chips to seat 0. The ante is 1, a bet 1 more.
int chips(const K::State& s) {
  const int sign = s.card[0] > s.card[1] ? 1 : -1;
  switch (s.length << 4 | s.bets) {
    case 0x20:  // pass, pass
      return sign;
    case 0x21:  // bet, pass
      return 1;
    case 0x32:  // pass, bet, pass
      return -1;
    default:  // both bet
      return 2 * sign;
  }
}

// Probability of a bet in the equilibrium with alpha = 0 (seat 0 never bluffs).
double equilibrium_bet(const K::State& s) {
  const int card = s.card[s.length & 1U];
  if (s.length == 0) return 0.0;
  if (s.length == 2) return card == 2 ? 1.0 : card == 1 ? 1.0 / 3.0 : 0.0;
  if ((s.bets & 1) != 0) return card == 2 ? 1.0 : card == 1 ? 1.0 / 3.0 : 0.0;  // calls a bet
  return card == 2 ? 1.0 : card == 0 ? 1.0 / 3.0 : 0.0;                         // bluffs
}

}  // namespace

K::Rules K::make_rules(const Params& params) {
  params.check(kName, {});
  return {};
}

GameSpec K::spec(const Rules&) {
  GameSpec s = spec_of_turns(kName, "Kuhn poker");
  s.perfect_information = false;
  s.max_ticks = 3;
  s.observation = {{.name = "information_state",
                    .dtype = DType::bits,
                    .shape = {11},
                    .low = 0.0,
                    .high = 1.0,
                    .meaning = "everything that the seat knows: seat, card, then pass or bet for "
                               "each of three decisions",
                    .labels = {"seat 0", "seat 1", "jack", "queen", "king", "pass 1", "bet 1",
                               "pass 2", "bet 2", "pass 3", "bet 3"}}};
  s.heads = {{.name = "choice",
              .size = 2,
              .labels = {"pass", "bet"},
              .depends_on = {},
              .meaning = "after a bet pass folds and bet calls"}};
  s.bots = {{"random", "every choice equally often"},
            {"equilibrium", "the equilibrium in which the first player never bluffs: worth -1/18"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning =
      "Each seat antes one chip and gets one of three cards. A seat passes or bets one chip; a bet "
      "is called or folded to. The higher card wins. The reward is in chips.";
  return s;
}

void K::reset(const Rules&, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, 0);
  s.card[0] = static_cast<std::uint8_t>(s.rng.below(kCards));
  s.card[1] = static_cast<std::uint8_t>(s.rng.below(kCards - 1));
  if (s.card[1] >= s.card[0]) ++s.card[1];
}

SeatMask K::to_act(const Rules&, const State& s) {
  return over(s) ? 0 : SeatMask{1} << (s.length & 1U);
}

void K::act(const Rules&, State& s, int seat, std::span<const std::int32_t> action) {
  check_turn(kName, over(s), seat, s.length & 1);
  s.chosen = static_cast<std::int8_t>(check_choice(kName, "choice", action, 2));
}

void K::bot(const Rules&, State& s, int seat, int bot) {
  if (over(s) || seat != (s.length & 1)) return;
  const double bet = bot == kRandom ? 0.5 : equilibrium_bet(s);
  s.chosen = s.rng.uniform() < bet ? kBet : kPass;
}

void K::bot_choice(const Rules& rules, State& s, int seat, int bot,
                   std::span<std::int32_t> action) {
  choose_by_bot<K>(rules, s, seat, bot, action);
}

void K::advance(const Rules&, State& s) {
  if (over(s)) return;
  check_decided(kName, s.chosen, s.length & 1);
  s.bets = static_cast<std::uint8_t>(s.bets | (s.chosen == kBet ? 1U << s.length : 0U));
  ++s.length;
  ++s.tick;
  s.chosen = -1;
}

Status K::status(const Rules&, const State& s) { return {.over = over(s), .truncated = false}; }

void K::rewards(const Rules&, const State& s, std::span<float> out) {
  out[0] = over(s) ? static_cast<float>(chips(s)) : 0.0F;
  out[1] = -out[0];
}

void K::outcome(const Rules&, const State& s, std::span<float> out) {
  pay_winner(chips(s) > 0 ? 0 : 1, out);
}

void K::observe(const Rules&, const State& s, int seat, std::span<std::byte* const> tensors) {
  unsigned bits = 1U << seat | 1U << (2 + s.card[static_cast<std::size_t>(seat)]);
  for (unsigned i = 0; i < s.length; ++i) bits |= 1U << (5 + 2 * i + (s.bets >> i & 1U));
  for (int i = 0; i < 2; ++i) tensors[0][i] = static_cast<std::byte>(bits >> (8 * i) & 0xffU);
}

void K::legal(const Rules&, const State&, int, std::uint8_t* mask) { mask[0] = mask[1] = 1; }

std::uint64_t K::hash(const Rules&, const State& s) {
  Hash64 h;
  h.add(s.card[0]);
  h.add(s.card[1]);
  h.add(s.length);
  h.add(s.bets);
  h.add(static_cast<std::uint64_t>(s.chosen + 1));
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string K::view(const Rules&, const State& s) {
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("over", over(s)).key("cards").open('[');
  for (const std::uint8_t c : s.card) j.value(static_cast<int>(c));
  j.close(']').key("choices").open('[');
  for (unsigned i = 0; i < s.length; ++i) j.value((s.bets >> i & 1U) != 0 ? "bet" : "pass");
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
