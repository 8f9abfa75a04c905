// Rule overrides: lines `key=value` that change numbers of a game's rules. A game lists its fields;
// reading, checking and printing are shared. Whole rulebooks in TOML: games/rts/rulebook/.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/whole.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// One key: how to parse its value into the rules, and how to print it.
struct OverrideField {
  std::string key;
  std::string expected;                          // for error messages
  std::function<bool(std::string_view)> assign;  // false: invalid
  std::function<std::string()> print;
  std::vector<std::string> choices = {};  // of a name: the nearest one is proposed
  const char* kind = "string";            // in a JSON schema
  double low = 0.0, high = 0.0;           // of an integer or a number
};
using OverrideFields = std::vector<OverrideField>;

template <class T>
[[nodiscard]] std::string number_text(T v) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}

// A number in [low, high]. The field refers to `target`.
template <class T>
requires std::is_arithmetic_v<T>
[[nodiscard]] OverrideField number_field(std::string key, T& target, double low, double high) {
  const bool whole = std::is_integral_v<T>;
  return {std::move(key),
          whole ? "an integer in [" + number_text(static_cast<long>(low)) + ", " +
                      number_text(static_cast<long>(high)) + "]"
                : "a number in [" + number_text(low) + ", " + number_text(high) + "]",
          [&target, low, high](std::string_view text) {
            T v{};
            if constexpr (std::is_integral_v<T>) {
              if (!parse_whole(text, v)) return false;
            } else {
              const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
              if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return false;
            }
            if (!(static_cast<double>(v) >= low && static_cast<double>(v) <= high)) return false;
            target = v;
            return true;
          },
          [&target] { return number_text(target); },
          {},
          whole ? "integer" : "number",
          low,
          high};
}

[[nodiscard]] OverrideField flag_field(std::string key, bool& target);

// One of `choices`, kept as its place in the list.
template <class T>
[[nodiscard]] OverrideField choice_field(std::string key, T& target,
                                         std::vector<std::string> choices) {
  std::string expected = "one of";
  for (const std::string& c : choices) expected += (&c == choices.data() ? " " : ", ") + c;
  return {std::move(key), expected,
          [&target, choices](std::string_view text) {
            const auto it = std::ranges::find(choices, text);
            if (it == choices.end()) return false;
            target = static_cast<T>(it - choices.begin());
            return true;
          },
          [&target, choices] {
            const auto i = static_cast<std::size_t>(target);
            return i < choices.size() ? choices[i] : std::string();
          },
          choices};
}

// A set of names as bits, written "a,b,c"; empty text is the empty set, and an empty name cannot be
// chosen.
[[nodiscard]] OverrideField names_field(std::string key, std::uint16_t& target,
                                        std::vector<std::string> valid);

// Every number of a unit type, as `NAME.cost` and so on; `types` are the names of all types, and
// the first `commands` of kCmdNames can be accepted.
void add_unit_fields(OverrideFields& fields, UnitType& type, const std::string& name,
                     std::span<const char* const> types, int commands = kCmds);

// Fields of bullets and the path planner.
void add_engine_fields(OverrideFields& fields, EngineRules& rules);

// A line of `text`, without its comment; the ones that are no `key=value` have an empty key.
struct OverrideLine {
  int number;  // from 1
  std::string_view key, value;
};
// Throws ParamError for a text that is too long.
[[nodiscard]] std::vector<OverrideLine> override_lines(const std::string& where,
                                                       std::string_view text);

// Mistakes, one a line of the message of the ParamError.
class OverrideMistakes {
 public:
  void add(const std::string& mistake);
  void finish() const;  // throws if there is one

 private:
  std::string text_;
  std::size_t count_ = 0;
};

// Text of a user for a message: in quotes, and not too long.
[[nodiscard]] std::string quoted_text(std::string_view text);

// JSON schema of the TOML form: keys with dots are tables.
[[nodiscard]] std::string override_schema(const OverrideFields& fields, const std::string& title);

// Reads `text`: lines `key=value`, '#' starts a comment. Throws ParamError with `where` (as
// "minirts.rulebook") and every mistake, one a line: the line, the key, the value, the allowed
// range and the nearest key.
void apply_overrides(const OverrideFields& fields, const std::string& where,
                     const std::string& text);

// Every key and its value, one per line, in the format of apply_overrides.
[[nodiscard]] std::string print_overrides(const OverrideFields& fields);

}  // namespace ludus::rts
