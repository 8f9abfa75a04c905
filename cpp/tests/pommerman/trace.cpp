#include "tests/pommerman/trace.hpp"

#include <array>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "games/pommerman/rules.hpp"
#include "games/pommerman/step.hpp"

namespace ludus::pommerman {

namespace {

[[noreturn]] void malformed(const std::string& what) {
  throw std::runtime_error("trace: malformed " + what);
}

// "1,2,3" in groups of `width`; "-" is none.
std::vector<int> numbers(const std::string& text, std::size_t width) {
  std::vector<int> out;
  if (text == "-") return out;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int v = 0;
    const auto r = std::from_chars(at, end, v);
    if (r.ec != std::errc() || v < 0 || v > 255) malformed("list " + text);
    out.push_back(v);
    at = r.ptr + 1;
  }
  if (out.size() % width != 0) malformed("list " + text);
  return out;
}

Cell cell_of(int row, int column, int size) {
  if (row >= size || column >= size) malformed("position");
  return cell_at(row, column);
}

std::uint8_t small(int v) { return static_cast<std::uint8_t>(v); }

State read_state(std::istream& in, int size) {
  std::string word, board, agents, bombs, hidden, flames;
  if (!(in >> word >> board >> agents >> bombs >> hidden >> flames) || word != "state") {
    malformed("state");
  }
  State s;
  s.board = bare_rules(size).empty;
  if (board.size() != static_cast<std::size_t>(size * size)) malformed("board");
  for (int i = 0; i < size * size; ++i) {
    int item = 0;
    const char* at = board.data() + i;
    if (std::from_chars(at, at + 1, item, 16).ec != std::errc() || item > 13) malformed("board");
    s.board[cell_at(i / size, i % size)] = small(item);
  }
  const std::vector<int> a = numbers(agents, 6);
  if (a.size() != 6 * kAgents) malformed("agents");
  for (std::size_t i = 0; i < kAgents; ++i) {
    const int* v = a.data() + 6 * i;
    s.agent[i] = {.cell = cell_of(v[0], v[1], size),
                  .alive = small(v[3]),
                  .ammo = small(v[2]),
                  .blast = small(v[4]),
                  .can_kick = small(v[5])};
  }
  const std::vector<int> b = numbers(bombs, 6);
  if (b.size() > 6 * kMaxBombs) malformed("bombs");
  for (std::size_t i = 0; i < b.size(); i += 6) {
    if (b[i + 2] >= kAgents || b[i + 5] > kRight) malformed("bomb");
    s.bomb[s.bombs++] = {.cell = cell_of(b[i], b[i + 1], size),
                         .owner = small(b[i + 2]),
                         .life = small(b[i + 3]),
                         .blast = small(b[i + 4]),
                         .moving = small(b[i + 5])};
  }
  const std::vector<int> h = numbers(hidden, 3);
  for (std::size_t i = 0; i < h.size(); i += 3) {
    s.hidden[cell_of(h[i], h[i + 1], size)] = small(h[i + 2]);
  }
  const std::vector<int> f = numbers(flames, 3);
  for (std::size_t i = 0; i < f.size(); i += 3) {
    if (f[i + 2] > 2) malformed("flame");
    s.flames[static_cast<std::size_t>(f[i + 2])].add(cell_of(f[i], f[i + 1], size));
  }
  return s;
}

}  // namespace

std::string difference(const State& expected, const State& actual, int size) {
  std::ostringstream out;
  for (int r = 0; r < size; ++r) {
    for (int c = 0; c < size; ++c) {
      const Cell cell = cell_at(r, c);
      const auto note = [&](const char* what, int e, int a) {
        if (e != a) out << what << "(" << r << "," << c << ") " << e << " != " << a << "; ";
      };
      note("board", expected.board[cell], actual.board[cell]);
      note("hidden", expected.hidden[cell], actual.hidden[cell]);
      for (std::size_t life = 0; life < 3; ++life) {
        note("flame", expected.flames[life].has(cell), actual.flames[life].has(cell));
      }
    }
  }
  for (std::size_t i = 0; i < kAgents; ++i) {
    const Agent& e = expected.agent[i];
    const Agent& a = actual.agent[i];
    const bool same = e.cell == a.cell && e.alive == a.alive && e.ammo == a.ammo &&
                      e.blast == a.blast && e.can_kick == a.can_kick;
    if (!same) out << "agent " << i << "; ";
  }
  if (expected.bombs != actual.bombs) {
    out << "bombs " << int{expected.bombs} << " != " << int{actual.bombs} << "; ";
    return out.str();
  }
  for (std::size_t i = 0; i < expected.bombs; ++i) {
    const Bomb& e = expected.bomb[i];
    const Bomb& a = actual.bomb[i];
    const bool same = e.cell == a.cell && e.owner == a.owner && e.life == a.life &&
                      e.blast == a.blast && e.moving == a.moving;
    if (!same) out << "bomb " << i << "; ";
  }
  return out.str();
}

TraceResult compare_traces(std::istream& in) {
  TraceResult result;
  State state;
  int size = 0;
  int max_blast = 0;
  for (std::string word; in >> word;) {
    if (word == "start") {
      if (!(in >> size >> max_blast) || size < 4 || size > kMaxSize) malformed("start");
      state = read_state(in, size);
      ++result.records;
      continue;
    }
    if (word != "step" || size == 0) malformed("line " + word);
    for (std::uint8_t& chosen : state.chosen) {
      int action = 0;
      if (!(in >> action) || action < 0 || action >= kActions) malformed("step");
      chosen = small(action);
    }
    const State expected = read_state(in, size);
    StepEvents events;
    step_world(state, max_blast, events);
    ++result.steps;
    if (const std::string what = difference(expected, state, size); !what.empty()) {
      ++result.wrong;
      if (result.differences.size() < 10) {
        result.differences.push_back("record " + std::to_string(result.records) + " step " +
                                     std::to_string(result.steps) + ": " + what);
      }
    }
    state = expected;
  }
  return result;
}

}  // namespace ludus::pommerman
