// Rulebooks of the game `rts`.
#pragma once

#include "bind/bind.hpp"

namespace ludus::bind {

void bind_rulebook(nb::module_& m);

}  // namespace ludus::bind
