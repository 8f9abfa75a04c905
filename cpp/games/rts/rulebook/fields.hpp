// The keys of a rulebook: how each is read, printed and described. The parser, the schema and the
// documentation are made from this one list.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "games/rts/rulebook/book.hpp"

namespace ludus::rts {

enum class FieldKind : std::uint8_t { integer, real, flag, name, names, text };

struct Field {
  std::string key;
  FieldKind kind;
  double low = 0.0, high = 0.0;      // of numbers
  std::vector<std::string> choices;  // of names; empty text is no choice
  std::string meaning;
  std::function<bool(std::string_view)> assign;  // false: not acceptable
  std::function<std::string()> print;
  // Where a number may be drawn for each match.
  bool may_vary = false;
  std::size_t offset = 0;
  Drawn::Kind storage = Drawn::Kind::i32;

  // For error messages: "an integer in [0, 64]".
  [[nodiscard]] std::string expected() const;
};

// Every key that this book, with its types, waves and bots, may have. Fields write into `book`, so
// it must outlive them and keep its vectors as they are.
[[nodiscard]] std::vector<Field> book_fields(Book& book);

}  // namespace ludus::rts
