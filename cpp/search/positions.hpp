// Training targets of recorded matches, by playing their moves again: positions, final ownership
// and score.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "game/state.hpp"
#include "search/any_search.hpp"
#include "search/search.hpp"

namespace ludus {

template <Game G>
class PositionReader final : public AnyPositions {
 public:
  explicit PositionReader(const Params& params) : PositionReader(G::make_rules(params)) {}
  explicit PositionReader(typename G::Rules rules)
      : rules_(std::move(rules)), spec_(G::spec(rules_)) {
    check_searchable(spec_);
    for (const TensorSpec& t : spec_.observation) bytes_.push_back(t.bytes());
    pointers_.resize(bytes_.size());
  }
  [[nodiscard]] const GameSpec& spec() const override { return spec_; }

  void read(const WantedPositions& w, std::span<std::byte* const> base,
            std::uint8_t* mask) override {
    typename G::State& s = state_;
    begin(w.seed);
    std::size_t next = 0;
    for (std::size_t ply = 0; next < w.wanted.size(); ++ply) {
      const int seat = decider(w.seed, ply);
      while (next < w.wanted.size() && static_cast<std::size_t>(w.wanted[next]) == ply) {
        const auto row = static_cast<std::size_t>(w.rows[next++]);
        for (std::size_t i = 0; i < bytes_.size(); ++i) pointers_[i] = base[i] + row * bytes_[i];
        G::observe(rules_, s, seat, pointers_);
        G::legal(rules_, s, seat, mask + row * spec_.mask_bytes());
      }
      if (next == w.wanted.size()) return;
      if (ply >= w.actions.size()) wrong(w.seed, ply, "there are no more moves");
      play(w.seed, ply, seat, w.actions[ply]);
    }
  }

  std::optional<float> final_score(MatchSeed seed, std::span<const std::uint16_t> actions,
                                   std::span<std::int8_t> owner) override {
    if constexpr (HasFinalScore<G>) {
      begin(seed);
      for (std::size_t ply = 0; ply < actions.size(); ++ply) {
        play(seed, ply, decider(seed, ply), actions[ply]);
      }
      if (!G::status(rules_, state_).over) return std::nullopt;
      return G::final_score(rules_, state_, owner);
    } else {
      throw SearchError(spec_.name + " does not count who owns what at the end of a match");
    }
  }

 private:
  [[noreturn]] void wrong(MatchSeed seed, std::size_t ply, const std::string& why) const {
    throw SearchError(spec_.name + ": recorded match " + std::to_string(seed.match) + ", ply " +
                      std::to_string(ply) + ": " + why);
  }
  void begin(MatchSeed seed) {
    G::reset(rules_, state_, seed);
    to_decision();
  }
  [[nodiscard]] int decider(MatchSeed seed, std::size_t ply) const {
    if (G::status(rules_, state_).over) wrong(seed, ply, "the match is over");
    return std::countr_zero(G::to_act(rules_, state_));
  }
  void play(MatchSeed seed, std::size_t ply, int seat, std::int32_t move) {
    try {
      G::act(rules_, state_, seat, std::span(&move, 1));
      G::advance(rules_, state_);
    } catch (const GameError& e) {
      wrong(seed, ply, e.what());
    }
    to_decision();
  }
  void to_decision() {
    typename G::State& s = state_;
    while (!G::status(rules_, s).over && G::to_act(rules_, s) == 0) G::advance(rules_, s);
  }

  typename G::Rules rules_;
  typename G::State state_{};
  GameSpec spec_;
  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> pointers_;
};

}  // namespace ludus
