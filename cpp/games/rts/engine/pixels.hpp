// Observation of a seat as a picture, drawn in memory: no display, no library. For networks that
// learn from pixels, and to compare with games that have nothing else.
//
// A cell is k x k pixels. Ground that the seat sees is light, ground in the fog dark, walls grey;
// own units are blue, enemies vermilion, neutral ones yellow, the brighter the healthier they
// are. Buildings fill their cell, other units half of it; the middle of each has the colour of its
// type, if k allows. Projectiles are white.
#pragma once

#include <cstdint>

#include "game/spec.hpp"
#include "games/rts/engine/fog.hpp"

namespace ludus::rts {

// The tensor `pixels`, uint8[3, side * k, side * k]: red, green, blue, each by [y, x].
[[nodiscard]] TensorSpec pixels_tensor(const EngineRules& rules, int k);

// The parameter that asks for it.
[[nodiscard]] ParamSpec pixels_param();

// Writes that tensor for `seat`, who has `sight` and sees the slots `seen`. `resource` is a type
// that is neutral, or -1.
void write_pixels(const EngineRules& rules, const State& state, int seat, const Sight& sight,
                  std::uint64_t seen, int resource, int k, std::uint8_t* out);

}  // namespace ludus::rts
