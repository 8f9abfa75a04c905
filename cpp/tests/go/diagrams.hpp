// Go positions as pictures: X black, O white, rows from the top.
#pragma once

#include <string>

#include "games/go/go.hpp"

namespace ludus {

struct GoMatch {
  Go::Rules rules;
  Go::State s{};

  explicit GoMatch(const Params& params) : rules(Go::make_rules(params)) {
    Go::reset(rules, s, {});
  }
  GoMatch(const std::string& picture, const std::string& first, Params params = {})
      : rules(parse(picture, first, params)) {
    Go::reset(rules, s, {});
  }

  [[nodiscard]] std::string name(int p) const {
    return "abcdefghjklmnopqrst"[static_cast<std::size_t>(p % rules.size)] +
           std::to_string(rules.size - p / rules.size);
  }
  [[nodiscard]] int point(const std::string& name) const {
    if (name == "pass") return rules.pass();
    int x = name[0] - 'a';
    if (name[0] > 'i') --x;
    return (rules.size - std::stoi(name.substr(1))) * rules.size + x;
  }
  [[nodiscard]] bool legal(const std::string& move) const {
    return Go::is_legal(rules, s, s.to_move, point(move));
  }
  void play(std::int32_t move) {
    Go::act(rules, s, s.to_move, {&move, 1});
    Go::advance(rules, s);
  }
  void play(const char* move) { play(point(move)); }
  [[nodiscard]] float result() const {  // Black's
    std::array<float, 2> out{};
    Go::outcome(rules, s, out);
    return out[0];
  }
  // Laid out as in the tests: four spaces, a line break before each row.
  [[nodiscard]] std::string text() const {
    std::string out;
    for (int p = 0; p < rules.points(); ++p) {
      out += p % rules.size == 0 ? "\n    " : " ";
      out += "XO."[static_cast<std::size_t>(Go::stone(rules, s, p))];
    }
    return out;
  }

 private:
  static Go::Rules parse(const std::string& picture, const std::string& first, Params& params) {
    std::string cells;
    for (const char c : picture) {
      if (c == 'X' || c == 'O' || c == '.') cells += c;
    }
    int size = go::kMinSize;
    while (size * size < static_cast<int>(cells.size())) ++size;
    std::string black = "black";
    std::string white = " white";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] == '.') continue;
      const int p = static_cast<int>(i);
      const std::string name =
          std::string(1, "abcdefghjklmnopqrst"[static_cast<std::size_t>(p % size)]) +
          std::to_string(size - p / size);
      (cells[i] == 'X' ? black : white) += " " + name;
    }
    params.set("size", std::to_string(size));
    params.set("setup", black + white);
    params.set("first", first);
    return Go::make_rules(params);
  }
};

}  // namespace ludus
