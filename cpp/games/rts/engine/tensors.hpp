// The tensors that every RTS game shows its players, and how they are described.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "game/spec.hpp"

namespace ludus::rts {

// Visible units, packed; `codec` makes planes of them on a map of `side` x `side` cells.
[[nodiscard]] inline TensorSpec cells_tensor(int rows, int cols, const char* codec, int side,
                                             const char* meaning, std::vector<std::string> labels) {
  TensorSpec t;
  t.name = "cells";
  t.dtype = DType::u16;
  t.shape = {rows, cols};
  t.high = 65535;
  t.codec = codec;
  t.scale = side;
  t.meaning = meaning;
  t.labels = std::move(labels);
  return t;
}

// A row a visible unit.
[[nodiscard]] inline TensorSpec units_tensor(int rows, int cols, std::vector<std::string> labels) {
  TensorSpec t;
  t.name = "units";
  t.dtype = DType::u8;
  t.shape = {rows, cols};
  t.high = 255;
  t.scale = 1.0 / 255.0;
  t.meaning = "visible units, own first, each kind in rising id; empty rows are 0";
  t.labels = std::move(labels);
  return t;
}

// Numbers from 0 to `high`.
[[nodiscard]] inline TensorSpec globals_tensor(int count, double high, const char* meaning,
                                               std::vector<std::string> labels) {
  TensorSpec t;
  t.name = "globals";
  t.dtype = DType::f32;
  t.shape = {count};
  t.low = 0;
  t.high = high;
  t.meaning = meaning;
  t.labels = std::move(labels);
  return t;
}

}  // namespace ludus::rts
