// Whole numbers in float form: "1e3" and "16.0" are integers wherever an integer is expected.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ludus {

// Reads the whole text as an integer; false for any other text, and for one that T cannot hold.
template <std::integral T>
[[nodiscard]] bool parse_whole(std::string_view text, T& out) {
  const char* end = text.data() + text.size();
  const auto plain = std::from_chars(text.data(), end, out);
  if (plain.ec == std::errc() && plain.ptr == end) return true;
  double number = 0.0;
  const auto real = std::from_chars(text.data(), end, number);
  constexpr double kLargest = 9007199254740992.0;  // 2^53: up to here a double is one integer
  if (real.ec != std::errc() || real.ptr != end || !(std::abs(number) <= kLargest)) return false;
  const auto whole = static_cast<std::int64_t>(number);
  if (static_cast<double>(whole) != number || !std::in_range<T>(whole)) return false;
  out = static_cast<T>(whole);
  return true;
}

}  // namespace ludus
