// Reading masks: which choices of a head are legal once the heads before it have been chosen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "game/spec.hpp"

namespace ludus {

// Layout of a mask: where each part is. Immutable once made, so any thread may read it; its
// functions allocate nothing. `mask` is what G::legal wrote, `action` the choices of the heads
// before.
class MaskLayout {
 public:
  explicit MaskLayout(const GameSpec& spec) {
    std::size_t at = 0;
    for (const HeadSpec& h : spec.heads) {
      Head head{h.size, {}};
      for (const int d : h.depends_on) {
        head.tables.push_back({at, d});
        at += static_cast<std::size_t>(spec.heads[static_cast<std::size_t>(d)].size) *
              static_cast<std::size_t>(h.size);
      }
      if (head.tables.empty()) {
        head.tables.push_back({at, -1});
        at += static_cast<std::size_t>(h.size);
      }
      heads_.push_back(std::move(head));
    }
  }

  [[nodiscard]] int heads() const { return static_cast<int>(heads_.size()); }
  [[nodiscard]] int size(int head) const { return heads_[static_cast<std::size_t>(head)].size; }

  [[nodiscard]] bool legal(const std::uint8_t* mask, std::span<const std::int32_t> action, int head,
                           int choice) const {
    const Head& h = heads_[static_cast<std::size_t>(head)];
    for (const Table& t : h.tables) {
      const std::int32_t row = t.head < 0 ? 0 : action[static_cast<std::size_t>(t.head)];
      if (mask[t.at + static_cast<std::size_t>(row * h.size + choice)] == 0) return false;
    }
    return true;
  }

  // How many choices are legal; 0: the head does not matter here.
  [[nodiscard]] std::uint32_t count(const std::uint8_t* mask, std::span<const std::int32_t> action,
                                    int head) const {
    std::uint32_t n = 0;
    for (int c = 0; c < size(head); ++c) n += legal(mask, action, head, c) ? 1U : 0U;
    return n;
  }

  // A whole decision, uniform among the legal choices of head after head.
  void draw(const std::uint8_t* mask, Rng& rng, std::span<std::int32_t> action) const {
    for (int h = 0; h < heads(); ++h) {
      std::int32_t& choice = action[static_cast<std::size_t>(h)];
      choice = 0;
      const std::uint32_t legal_choices = count(mask, action, h);
      if (legal_choices == 0) continue;
      std::uint32_t left = rng.below(legal_choices);
      while (!legal(mask, action, h, choice) || left-- > 0) ++choice;
    }
  }

 private:
  struct Table {
    std::size_t at;
    int head;  // that gives the row, or -1
  };
  struct Head {
    int size;
    std::vector<Table> tables;
  };
  std::vector<Head> heads_;
};

// A uniformly random legal move. Few masks are sparse: a few tries at random nearly always hit;
// then the exact way.
inline std::int32_t draw_move(std::span<const std::uint8_t> mask, Rng& rng) {
  const auto size = static_cast<std::uint32_t>(mask.size());
  for (int tries = 0; tries < 8; ++tries) {
    const std::uint32_t move = rng.below(size);
    if (mask[move] != 0) return static_cast<std::int32_t>(move);
  }
  std::uint32_t legal = 0;
  for (const std::uint8_t m : mask) legal += m != 0;
  std::uint32_t nth = rng.below(legal > 0 ? legal : 1);
  for (std::uint32_t move = 0; move < size; ++move) {
    if (mask[move] != 0 && nth-- == 0) return static_cast<std::int32_t>(move);
  }
  return 0;
}

}  // namespace ludus
