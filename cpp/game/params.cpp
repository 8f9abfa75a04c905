#include "game/params.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/names.hpp"
#include "base/whole.hpp"

namespace ludus {
namespace {

// The whole text as a number, or false.
template <class T>
bool parse(const std::string& text, T& out) {
  const char* end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, out);
  return r.ec == std::errc() && r.ptr == end;
}

std::string number_text(double v) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}

std::string quoted(const std::string& text) {
  return text.size() <= 80 ? "'" + text + "'" : "'" + text.substr(0, 77) + "...'";
}

const ParamSpec& find(const std::string& name, std::span<const ParamSpec> declared) {
  for (const ParamSpec& p : declared) {
    if (p.name == name) return p;
  }
  throw ParamError("parameter " + name + " is read by the game but not declared in its spec");
}

// Throws unless `value` is of the kind, range and choices that `p` declares.
void check_value(const std::string& where, const ParamSpec& p, const std::string& value) {
  if (p.kind == ParamKind::text) {
    if (p.choices.empty() || std::ranges::find(p.choices, value) != p.choices.end()) return;
    throw ParamError(where + " = " + quoted(value) + ": unknown choice" +
                     did_you_mean(value, p.choices));
  }
  const bool whole = p.kind == ParamKind::integer;
  double number = 0.0;
  bool good = false;
  if (whole) {
    std::int64_t i = 0;
    good = parse_whole(value, i);
    number = static_cast<double>(i);
  } else {
    good = parse(value, number) && std::isfinite(number);
  }
  const std::string expected = std::string(whole ? "an integer" : "a number") + " in [" +
                               number_text(p.low) + ", " + number_text(p.high) + "]";
  if (!good || number < p.low || number > p.high) {
    throw ParamError(where + " = " + quoted(value) + ": expected " + expected);
  }
}

}  // namespace

void Params::check(const std::string& game, std::span<const ParamSpec> declared) const {
  for (const auto& [name, value] : values_) {
    const auto it = std::ranges::find(declared, name, &ParamSpec::name);
    if (it == declared.end()) {
      std::vector<std::string> valid;
      for (const ParamSpec& p : declared) valid.push_back(p.name);
      throw ParamError(game + ": unknown parameter " + quoted(name) + did_you_mean(name, valid));
    }
    check_value(game + "." + name, *it, value);
  }
}

std::string Params::text(const std::string& name, std::span<const ParamSpec> declared) const {
  const ParamSpec& p = find(name, declared);
  const auto it = values_.find(name);
  const std::string& value = it == values_.end() ? p.default_value : it->second;
  check_value(name, p, value);
  return value;
}

std::int64_t Params::integer(const std::string& name, std::span<const ParamSpec> declared) const {
  std::int64_t v = 0;
  const std::string value = text(name, declared);
  if (!parse_whole(value, v)) {
    throw ParamError(name + " = " + quoted(value) + ": expected an integer");
  }
  return v;
}

double Params::real(const std::string& name, std::span<const ParamSpec> declared) const {
  double v = 0.0;
  const std::string value = text(name, declared);
  if (!parse(value, v)) throw ParamError(name + " = " + quoted(value) + ": expected a number");
  return v;
}

}  // namespace ludus
