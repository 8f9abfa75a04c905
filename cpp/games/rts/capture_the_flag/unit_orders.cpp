#include "games/rts/capture_the_flag/unit_orders.hpp"

#include <algorithm>
#include <array>

#include "games/rts/capture_the_flag/observe.hpp"
#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

enum UnitHead : std::uint8_t { kUnit, kOrder, kTarget, kPlace };
enum OrderKind : std::uint8_t { kMoveTo, kAttackAt, kFetch, kCarryHome, kOrderKinds };

constexpr int kOwnRows = 1 + kAthletes;  // the base, which takes no orders here, and the athletes
constexpr int kNobody = kOwnRows;

// Legal orders of a seat now, as bits by own row.
struct Choices {
  const CtfRules& rules;
  const State& state;
  int seat;
  FlagPlace flag;
  SeenRows rows;
  std::array<std::uint32_t, kOwnRows> orders{};
  std::array<std::uint32_t, kOwnRows> targets{};  // a bit a row
  std::array<std::uint32_t, kOwnRows> places{};

  Choices(const CtfRules& r, const State& s, int who)
      : rules(r),
        state(s),
        seat(who),
        flag(find_flag(r, s)),
        rows(r.engine, s, who, known_units(r, s, who, flag)) {
    if (s.over || s.tick < r.first_decision) return;
    for (int u = 0; u < std::min(rows.own, kOwnRows); ++u) weigh(static_cast<std::size_t>(u));
  }

  // Orders, targets and places of one own unit.
  void weigh(std::size_t u) {
    const int slot = rows.slot[u];
    if (!CtfRules::athlete(state.type[slot])) return;
    for (int p = 0; p < kPlaces; ++p) {
      if (may_move(slot, p)) places[u] |= 1U << p;
    }
    for_bits(rows.victims, [&](int row) {
      if (is_new(slot, attack_order(rows.slot[static_cast<std::size_t>(row)]))) {
        targets[u] |= 1U << row;
      }
    });
    const auto can = [&](OrderKind kind, bool yes) {
      if (yes) orders[u] |= 1U << kind;
    };
    can(kMoveTo, places[u] != 0);
    can(kAttackAt, targets[u] != 0);
    can(kFetch, flag.free != kNone && is_new(slot, get_flag_order(flag.free)));
    can(kCarryHome, flag.carrier == slot && is_new(slot, escort_flag_order()));
  }

  // The athlete takes the order and is not about it already.
  [[nodiscard]] bool is_new(int slot, const Order& o) const {
    if (!takes_order(rules.engine, state, slot, o)) return false;
    if (o.cmd == Cmd::move) {
      const bool going =
          state.cmd[slot] == Cmd::move && state.px[slot] == o.x && state.py[slot] == o.y;
      const bool there =
          state.cmd[slot] == Cmd::idle && state.x[slot] == o.x && state.y[slot] == o.y;
      return !going && !there;
    }
    return state.cmd[slot] != o.cmd ||
           (o.cmd != Cmd::escort_flag && state.target[slot] != o.target);
  }

  // The order to go to a place; false: off the field, or a visible unit stands there.
  [[nodiscard]] bool find_place(int slot, int place, Order& out) const {
    const Cell from{cell_coord(rules.column(state, seat, state.x[slot])),
                    cell_coord(state.y[slot])};
    const Cell seen = cell_of_place(from, place);
    const float x = rules.column(state, seat, static_cast<float>(seen.x));
    const Cell cell{static_cast<int>(x), seen.y};
    if (!inside(rules.engine, seen.x, seen.y)) return false;
    out = move_order(x, static_cast<float>(seen.y));
    return cell_free(rules.engine, state, cell, rows.seen & ~slot_bit(slot));
  }
  [[nodiscard]] bool may_move(int slot, int place) const {
    Order o;
    return find_place(slot, place, o) && is_new(slot, o);
  }
};

[[noreturn]] void refuse(int head, std::int32_t choice, const char* why) {
  refuse_choice("capture_the_flag", athlete_heads()[static_cast<std::size_t>(head)], choice, why);
}

}  // namespace

std::vector<HeadSpec> athlete_heads() {
  HeadSpec order;
  order.name = "order";
  order.size = kOrderKinds;
  order.labels = {"move", "attack", "get_flag", "escort_flag"};
  order.depends_on = {kUnit};
  order.meaning = "what the athlete shall do";
  return {row_head("unit", kOwnRows, 1, {},
                   "which own athlete gets an order, by its row; the last choice is none"),
          order,
          row_head("target", kFlagUnitRows, 0, {kUnit, kOrder}, "the enemy to attack, by its row"),
          place_head({kUnit, kOrder},
                     "where to move: compass direction and distance in cells (diagonals: on each "
                     "axis) from the athlete's cell; here: it stops in the middle of its cell")};
}

void legal_athlete_orders(const CtfRules& rules, const State& state, int seat, std::uint8_t* mask) {
  const Choices c(rules, state, seat);
  std::uint8_t* unit = mask;
  std::uint8_t* order = unit + kNobody + 1;
  std::uint8_t* target = order + (kNobody + 1) * kOrderKinds;
  std::uint8_t* target_of_order = target + (kNobody + 1) * kFlagUnitRows;
  std::uint8_t* place = target_of_order + kOrderKinds * kFlagUnitRows;
  std::uint8_t* place_of_order = place + (kNobody + 1) * kPlaces;
  std::fill(mask, place_of_order + kOrderKinds * kPlaces, std::uint8_t{0});
  unit[kNobody] = 1;
  for (int u = 0; u < kOwnRows; ++u) {
    const auto n = static_cast<std::size_t>(u);
    unit[u] = c.orders[n] != 0 ? 1 : 0;
    expand_bits(c.orders[n], kOrderKinds, order + u * kOrderKinds);
    expand_bits(c.targets[n], kFlagUnitRows, target + u * kFlagUnitRows);
    expand_bits(c.places[n], kPlaces, place + u * kPlaces);
  }
  std::fill_n(target_of_order + kAttackAt * kFlagUnitRows, kFlagUnitRows, std::uint8_t{1});
  std::fill_n(place_of_order + kMoveTo * kPlaces, kPlaces, std::uint8_t{1});
}

void order_athlete(const CtfRules& rules, State& state, int seat,
                   std::span<const std::int32_t> action) {
  const int unit = action[kUnit];
  if (unit == kNobody) return;
  const Choices c(rules, state, seat);
  if (unit < 0 || unit >= kOwnRows || c.orders[static_cast<std::size_t>(unit)] == 0) {
    refuse(kUnit, unit, "no athlete of the seat that can take a new order now");
  }
  const auto u = static_cast<std::size_t>(unit);
  const int order = action[kOrder];
  if (order < 0 || order >= kOrderKinds || (c.orders[u] >> order & 1) == 0) {
    refuse(kOrder, order, "the athlete cannot do that now, or is about it");
  }
  const int slot = c.rows.slot[u];
  Order given;
  if (order == kMoveTo) {
    const int place = action[kPlace];
    if (place < 0 || place >= kPlaces || (c.places[u] >> place & 1) == 0) {
      refuse(kPlace, place, "off the field, a unit stands there, or the way it goes already");
    }
    (void)c.find_place(slot, place, given);
  } else if (order == kAttackAt) {
    const int target = action[kTarget];
    if (target < 0 || target >= kFlagUnitRows || (c.targets[u] >> target & 1) == 0) {
      refuse(kTarget, target, "no enemy in sight, or the one that it attacks already");
    }
    given = attack_order(c.rows.slot[static_cast<std::size_t>(target)]);
  } else {
    given = order == kFetch ? get_flag_order(c.flag.free) : escort_flag_order();
  }
  give_order(state, slot, given);
}

}  // namespace ludus::rts
