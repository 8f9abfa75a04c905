// Everything of Go that depends on the size of the board, as functions of the state.
#pragma once

#include <span>
#include <vector>

#include "games/go/go.hpp"

namespace ludus::go {

struct Ops {
  using Rules = Go::Rules;
  using State = Go::State;

  void (*clear)(const Rules&, State&);  // the set-up position, recorded
  bool (*legal)(const Rules&, const State&, int seat, int move);
  void (*mask)(const Rules&, const State&, int seat, std::uint8_t* mask);  // points only
  int (*play)(const Rules&, State&, int move);                             // stones removed
  int (*random_move)(const Rules&, const State&, int seat, Rng&);
  int (*tactical_move)(const Rules&, const State&, int seat, Rng&);
  void (*observe)(const Rules&, const State&, int seat, std::span<std::byte* const>);
  int (*margin)(const Rules&, const State&);  // area, as the scoring rule counts it, without komi
  void (*owner)(const Rules&, const State&, std::span<std::int8_t>);  // of each point: +1 Black's
  int (*margin_without)(const Rules&, const State&, std::span<const int> dead);
  int (*stone)(const State&, int point);
  int (*ko_point)(const State&);  // or -1
  int (*last_move)(const State&);
  std::size_t (*live_bytes)(const State&);
  std::uint64_t (*path)(const State&);
  int (*playout)(const Rules&, const State&, Rng&, int& turns);  // margin at the end
  void (*owners)(const Rules&, const State&, int playouts, Rng, std::vector<int>& black_less_white);
  void (*settled)(const Rules&, const State&, std::vector<int>& alive, std::vector<int>& dead);
  bool (*ladder_takes)(const State&, int point, bool owner_moves);
  Go::Ladder (*read_ladder)(const State&, int point, bool owner_moves, int budget);
};

// Operations of a size in kMinSize .. kMaxSize.
[[nodiscard]] const Ops& ops_of(int size);

}  // namespace ludus::go
