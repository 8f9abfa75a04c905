// The solver of Connect Four. Only of the built-in module.
#pragma once

#include "bind/bind.hpp"

namespace ludus::bind {

void bind_connect_four(nb::module_& m);

}  // namespace ludus::bind
