// Shared by tests of the commands below the strategic level: random legal play of all seats, and
// the mask's answer for a whole decision.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "game/game.hpp"
#include "game/mask.hpp"

namespace ludus::tests {

inline constexpr int kHeads = 4;  // at most
using Decision4 = std::array<std::int32_t, kHeads>;

// A game's masks at one set of parameters.
template <Game G>
struct Masks {
  typename G::Rules rules;
  GameSpec spec;
  MaskLayout layout;
  std::vector<std::uint8_t> mask;

  explicit Masks(const Params& params)
      : rules(G::make_rules(params)), spec(G::spec(rules)), layout(spec), mask(spec.mask_bytes()) {}

  void look(const typename G::State& s, int seat) { G::legal(rules, s, seat, mask.data()); }

  // Whether the mask that was looked at last allows the decision, head by head: one without a legal
  // choice does not matter, and counts as 0.
  [[nodiscard]] bool allows(Decision4 action) const {
    bool allowed = true;
    for (int h = 0; h < layout.heads(); ++h) {
      std::int32_t& choice = action[static_cast<std::size_t>(h)];
      if (layout.count(mask.data(), action, h) == 0) {
        choice = 0;
      } else {
        allowed = allowed && layout.legal(mask.data(), action, h, choice);
      }
    }
    return allowed;
  }

  [[nodiscard]] std::span<const std::int32_t> heads_of(const Decision4& action) const {
    return std::span(action).first(static_cast<std::size_t>(layout.heads()));
  }

  // False where the rules refuse it.
  [[nodiscard]] bool takes(typename G::State& s, int seat, const Decision4& action) const {
    try {
      G::act(rules, s, seat, heads_of(action));
      return true;
    } catch (const GameError&) {
      return false;
    }
  }

  // Random legal decisions of all seats every `skip` ticks, `decisions` of them; `at(state)` before
  // each. A decision that the rules refuse throws.
  template <class F>
  void play(unsigned skip, int decisions, F&& at) {
    typename G::State s{};
    Rng rng({9, 9}, 0);
    int done = 0;
    for (std::uint64_t match = 0; done < decisions; ++match) {
      G::reset(rules, s, {.seed = 30, .match = match});
      while (!G::status(rules, s).over && done < decisions) {
        if (G::tick(s) % skip == 0 && G::to_act(rules, s) != 0) {
          at(s);
          for (int seat = 0; seat < spec.seats; ++seat) {
            look(s, seat);
            Decision4 action{};
            layout.draw(mask.data(), rng, std::span(action).first(spec.heads.size()));
            G::act(rules, s, seat, heads_of(action));
            ++done;
          }
        }
        G::advance(rules, s);
      }
    }
  }
};

}  // namespace ludus::tests
