// Observation of a match by a seat under a rulebook, through the fog of war. The tensors have a
// column, or a plane, for every unit type of the rulebook.
//
//   cells    as in MiniRTS (minirts/observe.hpp), with the rulebook's types: the codec "rts_cells"
//            makes T + 16 planes of it, T types. Column 1 is the type, and for
//            an enemy 8 more, or 16 if there are more than 8 types
//   units    a row for every visible unit, own first: whose, which type, where, how well, what it
//            does, and the numbers of its type, which differ between matches under random rules
//   terrain  1 where a wall is; only of rulebooks whose map has walls
//   pixels   a picture (engine/pixels.hpp), where the parameter asks for it
//   globals  the seat's own side and what it sees, in numbers
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/rulebook/book.hpp"

namespace ludus::rts {

[[nodiscard]] std::vector<TensorSpec> book_tensors(const Book& book);

// Writes the tensors, in the order of book_tensors.
void observe_book(const Book& book, const EngineRules& engine, const State& state, int seat,
                  std::span<std::byte* const> tensors);

}  // namespace ludus::rts
