// Positions of recorded matches, led to again by their moves: what a learner reads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
    G::reset(rules_, s, w.seed);
    to_decision(s);
    std::size_t next = 0;
    for (std::size_t ply = 0; next < w.wanted.size(); ++ply) {
      if (G::status(rules_, s).over) wrong(w, ply, "the match is over");
      const int seat = std::countr_zero(G::to_act(rules_, s));
      while (next < w.wanted.size() && static_cast<std::size_t>(w.wanted[next]) == ply) {
        const auto row = static_cast<std::size_t>(w.rows[next++]);
        for (std::size_t i = 0; i < bytes_.size(); ++i) pointers_[i] = base[i] + row * bytes_[i];
        G::observe(rules_, s, seat, pointers_);
        G::legal(rules_, s, seat, mask + row * spec_.mask_bytes());
      }
      if (next == w.wanted.size()) return;
      if (ply >= w.actions.size()) wrong(w, ply, "there are no more moves");
      const std::int32_t move = w.actions[ply];
      try {
        G::act(rules_, s, seat, std::span(&move, 1));
        G::advance(rules_, s);
      } catch (const GameError& e) {
        wrong(w, ply, e.what());
      }
      to_decision(s);
    }
  }

 private:
  [[noreturn]] void wrong(const WantedPositions& w, std::size_t ply, const std::string& why) const {
    throw SearchError(spec_.name + ": recorded match " + std::to_string(w.seed.match) + ", ply " +
                      std::to_string(ply) + ": " + why);
  }
  void to_decision(typename G::State& s) const {
    while (!G::status(rules_, s).over && G::to_act(rules_, s) == 0) G::advance(rules_, s);
  }

  typename G::Rules rules_;
  typename G::State state_{};
  GameSpec spec_;
  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> pointers_;
};

}  // namespace ludus
