// A spec as one JSON document, the form in which it reaches Python, replays and web pages.
#pragma once

#include <string>

#include "game/spec.hpp"

namespace ludus {

[[nodiscard]] const char* dtype_name(DType dtype);           // "bits", "u8", ...
[[nodiscard]] const char* kind_name(ParamKind kind);         // "integer", "real", "text"
[[nodiscard]] const char* symmetry_name(Symmetry symmetry);  // "none", "mirror", "dihedral"

// Keys are the member names of the structs of game/spec.hpp.
[[nodiscard]] std::string spec_json(const GameSpec& spec);

}  // namespace ludus
