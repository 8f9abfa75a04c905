#include "tools/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "base/names.hpp"

namespace ludus {

Arguments::Arguments(std::span<const char* const> argv, const std::vector<std::string>& known) {
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const std::string arg = argv[i];
    if (!arg.starts_with("--")) {
      words_.push_back(arg);
      continue;
    }
    const std::string name = arg.substr(2);
    if (std::ranges::find(known, name) == known.end()) {
      throw UsageError("unknown option " + arg + did_you_mean(name, known));
    }
    if (i + 1 == argv.size()) throw UsageError("option " + arg + " needs a value");
    options_.emplace(name, argv[++i]);
  }
}

const std::string& Arguments::word(std::size_t i, const std::string& what) const {
  if (i >= words_.size()) throw UsageError("missing " + what);
  return words_[i];
}

std::int64_t parse_integer(const std::string& what, const std::string& text, std::int64_t low,
                           std::int64_t high) {
  std::int64_t v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || v < low || v > high) {
    throw UsageError(what + " = '" + text + "': expected an integer in [" + std::to_string(low) +
                     ", " + std::to_string(high) + "]");
  }
  return v;
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t otherwise, std::int64_t low,
                                std::int64_t high) const {
  const auto it = options_.find(name);
  return it == options_.end() ? otherwise : parse_integer("--" + name, it->second, low, high);
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto it = options_.find(name);
  return it == options_.end() ? otherwise : it->second;
}

std::vector<std::string> Arguments::list(const std::string& name) const {
  std::vector<std::string> out;
  std::string rest = text(name, "");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    out.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return out;
}

std::map<std::string, std::string> Arguments::params() const {
  std::map<std::string, std::string> out;
  const auto [first, last] = options_.equal_range("param");
  for (auto it = first; it != last; ++it) {
    const std::size_t equals = it->second.find('=');
    if (equals == std::string::npos) {
      throw UsageError("--param " + it->second + ": expected name=value");
    }
    out[it->second.substr(0, equals)] = it->second.substr(equals + 1);
  }
  return out;
}

}  // namespace ludus
