// Pictures of hosted games.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>

#include "base/area_resize.hpp"
#include "bind/bind.hpp"

namespace ludus::bind {

using Picture = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void shrink_max(const Picture& a, const Picture& b, const Target& out) {
  if (a.shape(0) != b.shape(0) || a.shape(1) != b.shape(1)) {
    throw std::invalid_argument("shrink_max: two pictures of different sizes");
  }
  const auto size = [](std::size_t n) { return static_cast<int>(n); };
  // Tables of the last sizes: a process plays one game.
  thread_local std::unique_ptr<AreaResize> tables;
  const int height = size(a.shape(0)), width = size(a.shape(1));
  const int out_height = size(out.shape(0)), out_width = size(out.shape(1));
  if (!tables || !tables->fits(height, width, out_height, out_width)) {
    tables = std::make_unique<AreaResize>(height, width, out_height, out_width);
  }
  tables->run(a.data(), b.data(), out.data());
}

inline void bind_pixels(nb::module_& m) {
  m.def("shrink_max", &shrink_max, nb::arg("a"), nb::arg("b"), nb::arg("out"),
        "The larger of two grey pictures uint8[H, W], pixel by pixel, shrunk by area into out: "
        "uint8[h, w].\n\n"
        "Raises ValueError unless h <= H and w <= W.");
}

}  // namespace ludus::bind
