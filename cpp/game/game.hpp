// THE contract: a game is rules and nothing else.
//
// A game type G is never instantiated. It bundles two types and static functions over them:
//   G::Rules  immutable once made, shared by every match of a pool and read from any thread;
//   G::State  one match: a trivially copyable struct without pointers, so that clone, restore,
//             roll back and checkpoint are a memcpy.
//
// Life of a match, as the pool drives it (one thread at a time touches a State):
//
//   G::reset(rules, state, seed)
//   while (!G::status(rules, state).over) {
//     seats = G::to_act(rules, state)        // who may decide now, before frame skip
//     for each such seat in rising order whose frame skip is due:
//        G::act(rules, state, seat, action)  or  G::bot(rules, state, seat, bot)
//     G::advance(rules, state)               // one tick (or one turn)
//     G::rewards(rules, state, out)          // what that tick earned each seat
//   }
//
// act/bot translate the decision against the current state at once and queue its commands; only
// advance changes the world. Observing is allowed at any time between two advances.
// A game whose bots teach also has G::bot_choice (below).
// No function may allocate after make_rules, except view() and describe().
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/rng.hpp"
#include "game/params.hpp"
#include "game/spec.hpp"

namespace ludus {

inline constexpr int kMaxSeats = 16;
inline constexpr int kMaxHeads = 16;

using SeatMask = std::uint32_t;  // bit s = seat s

struct Status {
  bool over = false;       // the match has ended (by its rules or by truncation)
  bool truncated = false;  // it was cut off: the last observation still has a value
};

// A message of a rule violation by a caller (illegal action, bad parameter). Surfaces in Python
// with game, slot, seed and tick added by the pool.
struct GameError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class G>
concept Game = std::is_trivially_copyable_v<typename G::State> &&
    requires(const Params& params, const typename G::Rules& rules, typename G::State& state,
             const typename G::State& cstate, MatchSeed seed, int seat, int bot,
             std::span<const std::int32_t> action, std::span<float> per_seat,
             std::span<std::byte* const> tensors, std::uint8_t* mask) {
  { G::kName } -> std::convertible_to<const char*>;
  { G::make_rules(params) } -> std::same_as<typename G::Rules>;  // throws ParamError
  { G::spec(rules) } -> std::same_as<GameSpec>;
  {G::reset(rules, state, seed)};
  { G::to_act(rules, cstate) } -> std::same_as<SeatMask>;
  {G::act(rules, state, seat, action)};  // throws GameError when illegal
  {G::bot(rules, state, seat, bot)};     // index into GameSpec::bots
  {G::advance(rules, state)};
  { G::tick(cstate) } -> std::same_as<std::uint32_t>;  // advances since reset
  { G::status(rules, cstate) } -> std::same_as<Status>;
  {G::rewards(rules, cstate, per_seat)};  // of the last advance, one a seat
  {G::outcome(rules, cstate, per_seat)};  // of a finished match: +1 won, 0 drawn, -1 lost
  // One pointer a tensor of GameSpec::observation, each to TensorSpec::bytes() writable bytes.
  {G::observe(rules, cstate, seat, tensors)};
  // GameSpec::mask_bytes() bytes, 1 = legal (HeadSpec describes how tables of dependent heads lie);
  // at least one choice is legal of each head that depends on none.
  {G::legal(rules, cstate, seat, mask)};
  { G::hash(rules, cstate) } -> std::same_as<std::uint64_t>;
  { G::view(rules, cstate) } -> std::same_as<std::string>;  // JSON of the state for viewers
};

// A game may declare `static constexpr bool kObservesParts = true`. Then a pointer that its observe
// is given may be null, and that tensor is left out: no one reads it.
template <class G>
concept ObservesParts = Game<G> && requires {
  requires G::kObservesParts;
};

// A game may have bots that demonstrate (BotSpec::demonstrates):
//
//   G::bot_choice(rules, state, seat, bot, action)
//
// does all that G::bot does (draws, memory), except that the decision goes into `action`, one
// choice a head, and gives no order. G::act of that action then leaves the state that G::bot
// leaves. Called for seats that may decide. Lenient heads may get what their mask rules out.
template <class G>
concept Demonstrates = Game<G> && requires(const typename G::Rules& rules, typename G::State& state,
                                           int seat, int bot, std::span<std::int32_t> choices) {
  {G::bot_choice(rules, state, seat, bot, choices)};
};

// A game whose seats may be out before the match is over (the dead of a free-for-all):
//
//   seats = G::out(rules, state)           // who neither acts nor earns any more
//
// Where the match is cut off their rows are terminated: nothing follows for them. The others' are
// truncated. Asked for once a match that is cut off.
template <class G>
concept HasOut = Game<G> &&
    requires(const typename G::Rules& rules, const typename G::State& state) {
  { G::out(rules, state) } -> std::same_as<SeatMask>;
};

}  // namespace ludus
