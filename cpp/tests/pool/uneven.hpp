// A game for tests of the pool: three seats that act at different ticks, rewards on every tick that
// depend on every decision, masks that change, and errors on demand. It has no strategy.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include "base/hash.hpp"
#include "game/game.hpp"

namespace ludus::test {

struct Uneven {
  static constexpr const char* kName = "uneven";
  static constexpr int kSeats = 3;

  struct Rules {
    int length = 20;        // a match lasts 1..length ticks
    std::string throw_in;   // "", or the function that throws
    int throw_tick = 0;     // when it does, in every third match
    bool cuts_off = false;  // odd matches end truncated
  };
  struct State {
    std::uint64_t fold = 0;
    std::uint64_t match = 0;
    std::uint32_t tick = 0;
    std::uint32_t length = 0;
    std::array<float, 3> reward{};
    std::uint32_t unused = 0;
  };

  static ParamSpec number(const char* name, const char* value, double low, double high) {
    ParamSpec p;
    p.name = name;
    p.default_value = value;
    p.low = low;
    p.high = high;
    return p;
  }
  static std::vector<ParamSpec> declared() {
    ParamSpec where;
    where.name = "throw_in";
    where.kind = ParamKind::text;
    return {number("length", "20", 1, 1e9), where, number("throw_tick", "0", 0, 1e9),
            number("cuts_off", "0", 0, 1)};
  }
  static Rules make_rules(const Params& params) {
    params.check(kName, declared());
    return {static_cast<int>(params.integer("length", declared())),
            params.text("throw_in", declared()),
            static_cast<int>(params.integer("throw_tick", declared())),
            params.integer("cuts_off", declared()) != 0};
  }
  static GameSpec spec(const Rules&) {
    GameSpec s;
    s.name = kName;
    s.title = "Uneven";
    s.seats = kSeats;
    s.default_frame_skip = 2;
    s.observation.resize(2);
    s.observation[0].name = "bytes";
    s.observation[0].shape = {4};
    s.observation[1].name = "reward";
    s.observation[1].dtype = DType::f32;
    s.observation[1].shape = {1};
    s.heads.resize(2);
    s.heads[0].name = "a";
    s.heads[0].size = 3;
    s.heads[1].name = "b";
    s.heads[1].size = 2;
    s.params = declared();
    s.bots = {{"first", ""}, {"second", ""}};
    return s;
  }
  static void maybe_throw(const Rules& r, const State& s, const char* where) {
    if (r.throw_in == where && s.match % 3 == 0 &&
        s.tick == static_cast<std::uint32_t>(r.throw_tick)) {
      throw GameError(std::string("asked to throw in ") + where);
    }
  }
  static void reset(const Rules& r, State& s, MatchSeed seed) {
    s = State{};
    s.match = seed.match;
    Rng rng(seed, 0);
    s.fold = rng.next();
    s.length = 1 + rng.below(static_cast<std::uint32_t>(r.length));
    maybe_throw(r, s, "reset");
  }
  static SeatMask to_act(const Rules&, const State& s) {
    return 1U | (s.tick % 2 == 1 ? 2U : 0U) | (s.tick % 3 == 1 ? 4U : 0U);
  }
  static void mix(State& s, std::uint64_t what) { s.fold = mix64(s.fold ^ what) + 1; }
  static void act(const Rules& r, State& s, int seat, std::span<const std::int32_t> a) {
    maybe_throw(r, s, "act");
    if (a[0] == forbidden(s, seat)) throw GameError("illegal choice " + std::to_string(a[0]));
    mix(s, 0x100U + static_cast<unsigned>(seat) * 16U + static_cast<unsigned>(a[0] * 4 + a[1]));
  }
  static void bot(const Rules& r, State& s, int seat, int bot) {
    maybe_throw(r, s, "bot");
    mix(s, 0x200U + static_cast<unsigned>(seat) * 16U + static_cast<unsigned>(bot));
  }
  static void advance(const Rules& r, State& s) {
    maybe_throw(r, s, "advance");
    for (std::size_t i = 0; i < 3; ++i) {
      s.reward[i] = static_cast<float>(s.fold >> (8 * i) & 0xff) / 16.0F - 8.0F;
    }
    mix(s, s.tick);
    ++s.tick;
  }
  static std::uint32_t tick(const State& s) { return s.tick; }
  static Status status(const Rules& r, const State& s) {
    const bool over = s.tick >= s.length;
    return {over, over && r.cuts_off && s.match % 2 == 1};
  }
  static void rewards(const Rules&, const State& s, std::span<float> out) {
    for (std::size_t i = 0; i < 3; ++i) out[i] = s.reward[i];
  }
  static void outcome(const Rules&, const State& s, std::span<float> out) {
    for (std::size_t i = 0; i < 3; ++i) out[i] = s.fold % 3 == i ? 1.0F : -1.0F;
  }
  static void observe(const Rules& r, const State& s, int seat, std::span<std::byte* const> out) {
    maybe_throw(r, s, "observe");
    out[0][0] = static_cast<std::byte>(s.tick & 0xff);
    out[0][1] = static_cast<std::byte>(seat);
    out[0][2] = static_cast<std::byte>(s.fold & 0xff);
    out[0][3] = static_cast<std::byte>(s.match & 0xff);
    std::memcpy(out[1], &s.reward[static_cast<std::size_t>(seat)], 4);
  }
  static std::int32_t forbidden(const State& s, int seat) {
    return static_cast<std::int32_t>((s.tick + static_cast<std::uint32_t>(seat)) % 3);
  }
  static void legal(const Rules&, const State& s, int seat, std::uint8_t* mask) {
    for (int i = 0; i < 3; ++i) mask[i] = i == forbidden(s, seat) ? 0 : 1;
    mask[3] = mask[4] = 1;
  }
  static std::uint64_t hash(const Rules&, const State& s) {
    Hash64 h;
    h.add(s.fold);
    h.add(s.tick);
    return h.value();
  }
  static std::string view(const Rules&, const State& s) {
    return "{\"tick\":" + std::to_string(s.tick) + "}";
  }
};
static_assert(Game<Uneven>);

}  // namespace ludus::test
