// The state as JSON, for viewers and tools. Rows of the board are arrays of items (world.hpp);
// everything is in it, `seen` lists the cells that each seat sees.
#include <algorithm>

#include "base/json.hpp"
#include "games/pommerman/pommerman.hpp"

namespace ludus {

using namespace pommerman;

namespace {

void write_grid(JsonWriter& j, const Rules& rules, const std::array<std::uint8_t, kCells>& cells) {
  j.open('[');
  for (int r = 0; r < rules.size; ++r) {
    j.open('[');
    for (int c = 0; c < rules.size; ++c) j.value(static_cast<int>(cells[cell_at(r, c)]));
    j.close(']');
  }
  j.close(']');
}

void write_at(JsonWriter& j, Cell cell) {
  j.field("row", row_of(cell)).field("column", column_of(cell));
}

}  // namespace

std::string Pommerman::view(const Rules& rules, const State& s) {
  JsonWriter j;
  j.open('{').field("game", kName).field("tick", s.steps).field("size", rules.size);
  j.field("over", s.over != 0).field("view_radius", rules.fog ? kViewRadius : 0);
  j.field("teams", rules.teams());
  j.key("board");
  write_grid(j, rules, s.board);
  j.key("hidden");
  write_grid(j, rules, s.hidden);
  j.key("agents").open('[');
  for (int a = 0; a < rules.seats; ++a) {
    const Agent& agent = s.agent[static_cast<std::size_t>(a)];
    j.open('{').field("seat", a).field("alive", agent.alive != 0);
    write_at(j, agent.cell);
    j.field("ammo", agent.ammo).field("blast", agent.blast);
    j.field("can_kick", agent.can_kick != 0);
    if (rules.radio()) {
      j.key("hears").open('[');
      for (const std::uint8_t word : s.received[static_cast<std::size_t>(a)]) j.value(word);
      j.close(']');
    }
    j.close('}');
  }
  j.close(']').key("bombs").open('[');
  for (int b = 0; b < s.bombs; ++b) {
    const Bomb& bomb = s.bomb[static_cast<std::size_t>(b)];
    j.open('{');
    write_at(j, bomb.cell);
    j.field("seat", bomb.owner).field("life", bomb.life).field("blast", bomb.blast);
    j.field("moving", bomb.moving).close('}');
  }
  j.close(']').key("flames").open('[');
  for (int life = 0; life < 3; ++life) {
    s.flames[static_cast<std::size_t>(life)].each([&](int cell) {
      j.open('{');
      write_at(j, static_cast<Cell>(cell));
      j.field("life", life + 1).close('}');
    });
  }
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
