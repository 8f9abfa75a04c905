// Names people type: the valid name nearest to a wrong one, for error messages.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ludus {

// Levenshtein distance.
[[nodiscard]] inline int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// " (did you mean X?)", or " (valid: a, b, c)" when nothing is near, or "" when nothing is valid.
[[nodiscard]] inline std::string did_you_mean(std::string_view given,
                                              std::span<const std::string> valid) {
  const std::string* best = nullptr;
  int best_distance = static_cast<int>(given.size()) / 2 + 2;
  for (const std::string& v : valid) {
    const int d = edit_distance(given.substr(0, 64), v);
    if (d < best_distance) {
      best_distance = d;
      best = &v;
    }
  }
  if (best != nullptr) return " (did you mean " + *best + "?)";
  std::string all;
  for (const std::string& v : valid) all += (all.empty() ? "" : ", ") + v;
  return all.empty() ? "" : " (valid: " + all + ")";
}

}  // namespace ludus
