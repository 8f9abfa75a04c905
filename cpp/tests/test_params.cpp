#include <vector>

#include "game/params.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

const std::vector<ParamSpec> kDeclared = {
    {.name = "map_size",
     .kind = ParamKind::integer,
     .default_value = "20",
     .low = 10,
     .high = 64,
     .choices = {},
     .meaning = ""},
    {.name = "speed",
     .kind = ParamKind::real,
     .default_value = "0.5",
     .low = 0,
     .high = 1,
     .choices = {},
     .meaning = ""},
    {.name = "mode",
     .kind = ParamKind::text,
     .default_value = "elf",
     .choices = {"elf", "clean"},
     .meaning = ""},
};

std::string refusal(const std::string& name, const std::string& value) {
  Params p;
  p.set(name, value);
  try {
    p.check("game", kDeclared);
  } catch (const ParamError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("params: defaults and given values") {
  Params p{{"map_size", "32"}, {"mode", "clean"}};
  p.check("game", kDeclared);
  CHECK(p.integer("map_size", kDeclared) == 32);
  CHECK(p.real("speed", kDeclared) == 0.5);
  CHECK(p.text("mode", kDeclared) == "clean");
}

TEST_CASE("params: refusals name key, value, expectation and the nearest name") {
  CHECK(refusal("map_sise", "20") == "game: unknown parameter 'map_sise' (did you mean map_size?)");
  CHECK(refusal("map_size", "9") == "game.map_size = '9': expected an integer in [10, 64]");
  CHECK(refusal("map_size", "20x") == "game.map_size = '20x': expected an integer in [10, 64]");
  CHECK(refusal("map_size", "99999999999999999999") != "");
  CHECK(refusal("speed", "nan") == "game.speed = 'nan': expected a number in [0, 1]");
  CHECK(refusal("mode", "clear") == "game.mode = 'clear': unknown choice (did you mean clean?)");
  CHECK(refusal("map_size", "64") == "");
}

TEST_CASE("params: a whole number in float form is an integer") {
  for (const char* text : {"32", "32.0", "3.2e1", "320e-1"}) {
    Params p{{"map_size", text}};
    p.check("game", kDeclared);
    CHECK(p.integer("map_size", kDeclared) == 32);
  }
  for (const char* text : {"32.5", "nan", "inf", "1e400", "1e300", "32.0x", "", "."}) {
    CHECK(refusal("map_size", text) != "");
  }
}

}  // namespace
}  // namespace ludus
