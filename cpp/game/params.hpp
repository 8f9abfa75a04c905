// Parameters of the rules as they arrive from presets and command lines: name -> text. A game
// reads them through typed getters; what it did not declare is refused with the nearest name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "game/spec.hpp"

namespace ludus {

// Bad parameter: `what()` names the key, the value, what was expected and the nearest valid name.
struct ParamError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class Params {
 public:
  Params() = default;
  explicit Params(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  Params(std::initializer_list<std::pair<const std::string, std::string>> values)
      : values_(values) {}

  // Checks every given name, kind, range and choice against the declaration. Throws ParamError.
  void check(const std::string& game, std::span<const ParamSpec> declared) const;

  // The given value, or the declared default. `declared` must hold `name`.
  [[nodiscard]] std::int64_t integer(const std::string& name,
                                     std::span<const ParamSpec> declared) const;
  [[nodiscard]] double real(const std::string& name, std::span<const ParamSpec> declared) const;
  [[nodiscard]] std::string text(const std::string& name,
                                 std::span<const ParamSpec> declared) const;

  [[nodiscard]] const std::map<std::string, std::string>& values() const { return values_; }
  void set(std::string name, std::string value) { values_[std::move(name)] = std::move(value); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace ludus
