// Command lines of the form: COMMAND WORD... --name value... ; a --name may repeat.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace ludus {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Arguments {
 public:
  // `known` lists the valid option names without dashes. Throws UsageError.
  Arguments(std::span<const char* const> argv, const std::vector<std::string>& known);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  // The i-th word; `what` names it in the error when it is missing.
  [[nodiscard]] const std::string& word(std::size_t i, const std::string& what) const;
  [[nodiscard]] std::int64_t integer(const std::string& name, std::int64_t otherwise,
                                     std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const;
  // "a,b,c" split at the commas; empty if not given.
  [[nodiscard]] std::vector<std::string> list(const std::string& name) const;
  // Every --param key=value.
  [[nodiscard]] std::map<std::string, std::string> params() const;

 private:
  std::vector<std::string> words_;
  std::multimap<std::string, std::string> options_;
};

[[nodiscard]] std::int64_t parse_integer(const std::string& what, const std::string& text,
                                         std::int64_t low, std::int64_t high);

}  // namespace ludus
