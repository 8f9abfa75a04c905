// The start position of a match under a rulebook, and units that come later.
#pragma once

#include "base/rng.hpp"
#include "games/rts/rulebook/book.hpp"

namespace ludus::rts {

// Draws the numbers of `book` that differ from match to match.
void draw_numbers(const Book& book, Rng& rng, Numbers& numbers);

// A fresh match at tick 0. Everything random comes from `rng`.
void place_start(const Book& book, const Numbers& numbers, State& state, Rng& rng);

// Units of the waves that are due in this tick, with the order to attack.
void send_waves(const Numbers& numbers, State& state);

}  // namespace ludus::rts
