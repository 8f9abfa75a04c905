#include "games/rts/engine/cells.hpp"

namespace ludus::rts {

void write_cells(const EngineRules& engine, const State& s, int seat, std::uint64_t seen, int enemy,
                 std::uint16_t* out) {
  const int side = engine.side;
  std::fill_n(out, kCellRows * kCellCols, std::uint16_t{0});
  std::uint16_t* row = out;
  int last_base = kNone;
  for_bits(seen, [&](int i) {
    const bool own = engine.owner_of(i) == seat;
    const int x = std::clamp(static_cast<int>(s.x[i]), 0, side - 1);
    const int y = std::clamp(static_cast<int>(s.y[i]), 0, side - 1);
    row[0] = static_cast<std::uint16_t>(y * side + x + 1);
    row[1] = static_cast<std::uint16_t>(s.type[i] + (own ? 0 : enemy));
    row[2] = static_cast<std::uint16_t>(s.hp[i]);
    row[3] = static_cast<std::uint16_t>(engine.type[s.type[i]].hp);
    row[4] = static_cast<std::uint16_t>(age_of(s, i));
    row += kCellCols;
    if (own && s.type[i] == engine.base_type) last_base = i;
  });
  row = out + (kCellRows - 1) * kCellCols;
  row[0] = static_cast<std::uint16_t>(std::min(s.money[seat], 65535));
  if (last_base != kNone) {
    row[1] = static_cast<std::uint16_t>(s.hp[last_base]);
    row[2] = static_cast<std::uint16_t>(engine.type[engine.base_type].hp);
  }
  row[3] = static_cast<std::uint16_t>(side);
}

}  // namespace ludus::rts
