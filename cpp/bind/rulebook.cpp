// Rulebooks of the game `rts`: what Python needs to read, check and describe them.
#include "bind/rulebook.hpp"

#include "base/names.hpp"
#include "games/rts/moba/rules.hpp"
#include "games/rts/rulebook/book.hpp"

namespace ludus::bind {

namespace {

std::string schema_of(const std::string& game) {
  if (game == "moba") return rts::moba_schema();
  if (game == "rts") return rts::book_schema();
  const std::vector<std::string> games = {"moba", "rts"};
  throw ParamError("no schema of rulebooks for the game '" + game.substr(0, 80) + "'" +
                   did_you_mean(game, games));
}

}  // namespace

void bind_rulebook(nb::module_& m) {
  m.def("rulebook_names", &rts::builtin_books, "Names of the built-in rulebooks.");
  m.def("rulebook_schema", &schema_of, nb::arg("game") = "rts",
        "JSON schema of a game's rulebook in TOML. Raises ParamError for a game without one.");
  m.def(
      "rulebook_text",
      [](const std::string& rulebook, const std::string& randomise) {
        return rts::print_book(rts::read_book(rulebook, randomise));
      },
      nb::arg("rulebook"), nb::arg("randomise") = "",
      "Every key and value of a rulebook, a line each. Raises ParamError with every mistake.");
}

}  // namespace ludus::bind
