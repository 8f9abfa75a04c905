// Rulebooks of the game `rts`: what Python needs to read, check and describe them.
#include "bind/rulebook.hpp"

#include "games/rts/rulebook/book.hpp"

namespace ludus::bind {

void bind_rulebook(nb::module_& m) {
  m.def("rulebook_names", &rts::builtin_books, "Names of the built-in rulebooks.");
  m.def("rulebook_schema", &rts::book_schema, "JSON schema of a rulebook in TOML.");
  m.def(
      "rulebook_text",
      [](const std::string& rulebook, const std::string& randomise) {
        return rts::print_book(rts::read_book(rulebook, randomise));
      },
      nb::arg("rulebook"), nb::arg("randomise") = "",
      "Every key and value of a rulebook, a line each. Raises ParamError with every mistake.");
}

}  // namespace ludus::bind
