// Go's interface beyond the contract of games. Only of the built-in module.
#pragma once

#include "bind/match.hpp"

namespace ludus::bind {

void bind_go(nb::module_& m);

}  // namespace ludus::bind
