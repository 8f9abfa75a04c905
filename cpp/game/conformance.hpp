// Conformance checks: the contract of a game, tested on matches of random legal decisions. Ships to
// users
// (`ludus games check`), runs on every built-in game in the tests and for hours in `gamectl soak`.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "game/playthrough.hpp"
#include "game/replay_run.hpp"
#include "game/state.hpp"

namespace ludus {

// Findings by check. A check that found nothing wrong has an empty text.
class Findings {
 public:
  // Names appear in the report in the order of their first mention, found or not.
  void checked(const std::string& check) {
    if (std::ranges::find(order_, check) == order_.end()) order_.push_back(check);
  }
  void expect(bool good, const std::string& check, const std::string& what) {
    checked(check);
    if (!good && !wrong_.contains(check)) wrong_[check] = what;
  }
  [[nodiscard]] bool clean() const { return wrong_.empty(); }
  [[nodiscard]] std::string json() const {
    JsonWriter j;
    j.open('[');
    for (const std::string& c : order_) {
      const auto it = wrong_.find(c);
      j.open('{').field("check", c).field("passed", it == wrong_.end());
      j.field("detail", it == wrong_.end() ? "" : it->second).close('}');
    }
    j.close(']');
    return std::move(j).text();
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::string> wrong_;
};

namespace detail {

// Calls fn(value) for every element of a packed row.
template <class Fn>
void for_each_element(const TensorSpec& t, const std::vector<std::byte>& bytes, Fn&& fn) {
  const auto as = [&]<class T>(T) {
    for (std::size_t i = 0; i < t.elements(); ++i) {
      T v;
      std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
      fn(static_cast<double>(v));
    }
  };
  switch (t.dtype) {
    case DType::bits:
      for (std::size_t i = 0; i < t.elements(); ++i) {
        fn(static_cast<double>(std::to_integer<unsigned>(bytes[i / 8]) >> (i % 8) & 1U));
      }
      break;
    case DType::u8:
      as(std::uint8_t{});
      break;
    case DType::i8:
      as(std::int8_t{});
      break;
    case DType::u16:
      as(std::uint16_t{});
      break;
    case DType::i16:
      as(std::int16_t{});
      break;
    case DType::i32:
      as(std::int32_t{});
      break;
    case DType::f32:
      as(float{});
      break;
  }
}

inline void check_names(Findings& f, const std::string& what,
                        const std::vector<std::string>& names) {
  const std::set<std::string> unique(names.begin(), names.end());
  f.expect(unique.size() == names.size(), "spec", "two " + what + " have the same name");
  for (const std::string& n : names) {
    const bool good = !n.empty() && std::ranges::all_of(n, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    f.expect(good, "spec", what + " name '" + n + "': expected lower case letters, digits and _");
  }
}

inline void check_pointing(Findings& f, const GameSpec& s, const HeadSpec& h) {
  const std::string head = "head " + h.name;
  if (h.points_at.empty()) {
    f.expect(h.rows == 0 && !h.by_columns, "spec", head + " has rows but points at no tensor");
    return;
  }
  const auto t = std::ranges::find(s.observation, h.points_at, &TensorSpec::name);
  const bool known = t != s.observation.end();
  const std::size_t axes = known ? t->shape.size() : 0;
  f.expect(axes == 2 || axes == 3, "spec",
           head + " points at " + h.points_at + ", which is no tensor of entity rows or planes");
  f.expect(h.rows >= 1 && h.rows <= h.size, "spec", head + ": rows must be 1 .. its choices");
  // Only a codec knows what its tensor decodes to.
  if (!known || t->codec != "identity") return;
  f.expect(axes != 2 || h.rows <= t->shape[0], "spec", head + ": more rows than the tensor has");
  f.expect(axes != 2 || !h.by_columns, "spec", head + ": entity rows have no columns");
  f.expect(axes != 3 || h.rows == t->shape[1] * t->shape[2], "spec",
           head + ": rows must be the cells of the planes");
}

inline void check_spec(Findings& f, const GameSpec& s, const char* name) {
  f.expect(s.name == name, "spec", "the spec's name is not kName");
  f.expect(s.version >= 1, "spec", "version must be 1 or more");
  f.expect(s.seats >= 1 && s.seats <= kMaxSeats, "spec", "seats must be 1..16");
  f.expect(s.teams.empty() || s.teams.size() == static_cast<std::size_t>(s.seats), "spec",
           "teams must be none or one number a seat");
  f.expect(s.default_frame_skip >= 1, "spec", "default_frame_skip must be 1 or more");
  f.expect(!s.observation.empty(), "spec", "no observation tensor");
  f.expect(!s.heads.empty() && s.heads.size() <= kMaxHeads, "spec", "heads must be 1..16");
  const auto names = [](const auto& list) {
    std::vector<std::string> out;
    for (const auto& item : list) out.push_back(item.name);
    return out;
  };
  check_names(f, "tensor", names(s.observation));
  check_names(f, "head", names(s.heads));
  check_names(f, "parameter", names(s.params));
  check_names(f, "bot", names(s.bots));
  for (const TensorSpec& t : s.observation) {
    f.expect(!t.shape.empty() && t.elements() > 0, "spec", "tensor " + t.name + " is empty");
    f.expect(t.low < t.high, "spec", "tensor " + t.name + ": low must be below high");
    f.expect(!t.meaning.empty(), "spec", "tensor " + t.name + " has no meaning");
  }
  for (std::size_t i = 0; i < s.heads.size(); ++i) {
    const HeadSpec& h = s.heads[i];
    f.expect(h.size >= 1, "spec", "head " + h.name + " has no choice");
    f.expect(h.labels.empty() || h.labels.size() == static_cast<std::size_t>(h.size), "spec",
             "head " + h.name + ": labels must be none or one a choice");
    for (const int d : h.depends_on) {
      f.expect(d >= 0 && d < static_cast<int>(i), "spec",
               "head " + h.name + " depends on a head that is not before it");
    }
    f.expect(std::ranges::adjacent_find(h.depends_on, std::ranges::greater_equal{}) ==
                 h.depends_on.end(),
             "spec", "head " + h.name + ": depends_on must be rising");
    check_pointing(f, s, h);
  }
  f.expect(s.counted_cells >= 0, "spec", "counted_cells must be 0 or more");
  Params defaults;
  for (const ParamSpec& p : s.params) defaults.set(p.name, p.default_value);
  try {
    defaults.check(s.name, s.params);
  } catch (const ParamError& e) {
    f.expect(false, "spec", std::string("a default is refused: ") + e.what());
  }
}

}  // namespace detail

template <Game G>
class Conformance {
 public:
  Conformance(const Params& params, std::uint64_t seed, std::uint32_t max_ticks)
      : params_(params),
        seed_(seed),
        max_ticks_(max_ticks),
        c_(params),
        zeros_(c_.spec),
        ones_(c_.spec) {}

  // All checks over `matches` matches from match `first` on, each by its number: what is found does
  // not depend on how many of them a call plays.
  const Findings& run(int matches, std::uint64_t first = 0) {
    detail::check_spec(f_, c_.spec, G::kName);
    f_.expect(HasFinalScore<G> == (c_.spec.counted_cells > 0), "spec",
              "counted_cells and count() go together");
    f_.expect(Demonstrates<G> || std::ranges::none_of(
                                     c_.spec.bots, [](const BotSpec& b) { return b.demonstrates; }),
              "spec", "a bot demonstrates, but there is no bot_choice");
    for (const char* check : {"reset", "determinism", "clone"}) f_.checked(check);
    const std::uint64_t bots = c_.spec.bots.size();
    for (std::uint64_t m = first; m < first + static_cast<std::uint64_t>(matches); ++m) {
      const MatchSeed seed{seed_, m};
      std::vector<SeatDriver> drivers;
      for (int s = 0; s < c_.spec.seats; ++s) {  // every other match with bots in it
        const std::uint64_t turn = m / 2 + static_cast<std::uint64_t>(s);
        const int bot = m % 2 == 0 || bots == 0 ? -1 : static_cast<int>(turn % (bots + 1)) - 1;
        drivers.push_back({bot, c_.spec.default_frame_skip});
      }
      play(seed, drivers);
      check_replay(seed, drivers);
    }
    return f_;
  }

 private:
  using State = typename G::State;

  static std::string at(const State& s, const char* what) {
    return "tick " + std::to_string(G::tick(s)) + ": " + what;
  }

  void play(MatchSeed seed, const std::vector<SeatDriver>& drivers) {
    State a{};
    State b;
    std::memset(static_cast<void*>(&b), 0xa5, sizeof b);  // reset may rely on nothing
    G::reset(c_.rules, a, seed);
    G::reset(c_.rules, b, seed);
    f_.expect(G::hash(c_.rules, a) == G::hash(c_.rules, b), "reset",
              "the state after reset depends on what was there before");
    f_.expect(G::tick(a) == 0, "reset", "tick is not 0 after reset");
    Rng rng_a(seed, kUniformStream);
    Rng rng_b(seed, kUniformStream);
    try {
      while (!G::status(c_.rules, a).over && (max_ticks_ == 0 || G::tick(a) < max_ticks_)) {
        const std::uint32_t tick = G::tick(a);
        check_moment(a);
        if (tick % 8 == 3) {
          State copy;
          std::memcpy(static_cast<void*>(&copy), &a, sizeof a);
          f_.expect(G::hash(c_.rules, copy) == G::hash(c_.rules, a), "clone",
                    at(a, "a byte copy has another hash"));
          b = copy;  // the twin continues from the copy: it must not matter
        }
        decide<G>(c_, a, drivers, rng_a);
        decide<G>(c_, b, drivers, rng_b, nullptr,
                  [&](State& s, int seat, int bot) { play_bot(s, seat, bot); });
        f_.expect(G::hash(c_.rules, a) == G::hash(c_.rules, b), "demonstrations",
                  at(b, "bot_choice and act leave another state than bot"));
        G::advance(c_.rules, a);
        G::advance(c_.rules, b);
        f_.expect(G::tick(a) == tick + 1, "ticks", at(a, "advance must add one tick"));
        f_.expect(G::hash(c_.rules, a) == G::hash(c_.rules, b), "determinism",
                  at(a, "same seed and decisions, another hash"));
        check_rewards(a);
      }
      check_end(a);
    } catch (const GameError& e) {
      f_.expect(false, "legal", at(a, "the rules refused a legal decision: ") + e.what());
    }
  }

  // A bot that demonstrates plays by its choices.
  void play_bot(State& s, int seat, int bot) {
    if constexpr (Demonstrates<G>) {
      if (c_.spec.bots[static_cast<std::size_t>(bot)].demonstrates) {
        std::array<std::int32_t, kMaxHeads> choices{};
        const auto action = std::span(choices).first(c_.spec.heads.size());
        G::legal(c_.rules, s, seat, c_.mask.data());
        G::bot_choice(c_.rules, s, seat, bot, action);
        const bool legal = in_mask(action);
        f_.expect(legal, "demonstrations", at(s, "a bot's choice is not legal"));
        if (legal) G::act(c_.rules, s, seat, action);
        return;
      }
    }
    G::bot(c_.rules, s, seat, bot);
  }

  // Whether every choice lies inside its head, and in c_.mask unless the head is lenient.
  [[nodiscard]] bool in_mask(std::span<const std::int32_t> action) const {
    for (int h = 0; h < c_.layout.heads(); ++h) {
      const HeadSpec& head = c_.spec.heads[static_cast<std::size_t>(h)];
      const std::int32_t choice = action[static_cast<std::size_t>(h)];
      if (choice < 0 || choice >= head.size) return false;
      if (head.lenient || c_.layout.count(c_.mask.data(), action, h) == 0) continue;
      if (!c_.layout.legal(c_.mask.data(), action, h, choice)) return false;
    }
    return true;
  }

  void check_moment(const State& s) {
    const SeatMask seats = G::to_act(c_.rules, s);
    f_.expect(seats >> c_.spec.seats == 0, "seats", at(s, "a seat that does not exist must act"));
    f_.expect(!c_.spec.turn_based || (seats & (seats - 1)) == 0, "seats",
              at(s, "turn-based, but two seats must act"));
    for (int seat = 0; seat < c_.spec.seats; ++seat) {
      check_observation(s, seat);
      check_mask(s, seat, (seats >> seat & 1U) != 0);
    }
  }

  void check_observation(const State& s, int seat) {
    fill(zeros_, std::byte{0x00});
    fill(ones_, std::byte{0xff});
    G::observe(c_.rules, s, seat, zeros_.pointers());
    G::observe(c_.rules, s, seat, ones_.pointers());
    for (std::size_t i = 0; i < c_.spec.observation.size(); ++i) {
      const TensorSpec& t = c_.spec.observation[i];
      f_.expect(zeros_.tensor(i) == ones_.tensor(i), "observation",
                at(s, "observe leaves bytes unwritten in ") + t.name);
      bool in_range = true;
      detail::for_each_element(t, zeros_.tensor(i),
                               [&](double v) { in_range &= v >= t.low && v <= t.high; });
      f_.expect(in_range, "observation", at(s, "a value outside [low, high] in ") + t.name);
    }
  }

  void fill(ObservationBuffer& o, std::byte v) {
    for (std::size_t i = 0; i < c_.spec.observation.size(); ++i) {
      std::fill_n(o.pointers()[i], c_.spec.observation[i].bytes(), v);
    }
  }

  void check_mask(const State& s, int seat, bool acts) {
    std::vector<std::uint8_t> guarded(c_.spec.mask_bytes() + 1, 0xee);
    G::legal(c_.rules, s, seat, guarded.data());
    f_.expect(guarded.back() == 0xee, "mask", at(s, "legal writes beyond the mask"));
    f_.expect(std::ranges::all_of(std::span(guarded).first(guarded.size() - 1),
                                  [](std::uint8_t m) { return m <= 1; }),
              "mask", at(s, "a mask byte that is neither 0 nor 1"));
    for (int h = 0; h < c_.layout.heads(); ++h) {
      const HeadSpec& head = c_.spec.heads[static_cast<std::size_t>(h)];
      if (!head.depends_on.empty()) continue;  // its rows may be empty: it does not matter then
      f_.expect(c_.layout.count(guarded.data(), {}, h) > 0, "mask",
                at(s, "no legal choice in head ") + head.name);
    }
    if (acts && G::tick(s) % 8 == 0) check_refusal(s, seat, guarded);
  }

  // Any choice outside the heads or the mask is refused and changes nothing. A lenient head may be
  // given what its mask rules out.
  void check_refusal(const State& s, int seat, const std::vector<std::uint8_t>& mask) {
    std::array<std::int32_t, kMaxHeads> action{};
    Rng rng({seed_, G::tick(s)}, static_cast<std::uint64_t>(seat));
    const auto decision = std::span(action).first(c_.spec.heads.size());
    c_.layout.draw(mask.data(), rng, decision);
    for (int h = 0; h < c_.layout.heads(); ++h) {
      if (c_.layout.count(mask.data(), action, h) == 0) continue;  // ignored
      const HeadSpec& head = c_.spec.heads[static_cast<std::size_t>(h)];
      std::int32_t& choice = action[static_cast<std::size_t>(h)];
      const std::int32_t good = choice;
      std::vector<std::int32_t> bad = {-1, head.size, 1 << 30};
      for (std::int32_t c = 0; c < head.size && !head.lenient; ++c) {
        if (!c_.layout.legal(mask.data(), action, h, c)) bad.push_back(c);
      }
      for (const std::int32_t b : bad) {
        choice = b;
        State copy = s;
        bool refused = false;
        try {
          G::act(c_.rules, copy, seat, decision);
        } catch (const GameError&) {
          refused = true;
        }
        const std::string what = head.name + " = " + std::to_string(b);
        f_.expect(refused, "refusal", at(s, "an illegal decision was accepted: ") + what);
        f_.expect(!refused || G::hash(c_.rules, copy) == G::hash(c_.rules, s), "refusal",
                  at(s, "a refused decision changed the state: ") + what);
      }
      choice = good;
    }
  }

  void check_rewards(const State& s) {
    std::array<float, kMaxSeats + 1> out{};
    out.fill(std::numeric_limits<float>::quiet_NaN());
    const auto seats = static_cast<std::size_t>(c_.spec.seats);
    G::rewards(c_.rules, s, std::span(out).first(seats));
    for (std::size_t i = 0; i < seats; ++i) {
      f_.expect(std::isfinite(out[i]), "rewards", at(s, "a reward is missing or not finite"));
    }
  }

  void check_end(const State& s) {
    const Status status = G::status(c_.rules, s);
    const auto limit = static_cast<std::uint32_t>(c_.spec.max_ticks);
    f_.expect(limit == 0 || G::tick(s) <= limit, "end", at(s, "the match outlasts max_ticks"));
    if (!status.over) return;
    f_.expect(G::to_act(c_.rules, s) == 0, "end", at(s, "a seat must act after the end"));
    std::array<float, kMaxSeats> out{};
    out.fill(std::numeric_limits<float>::quiet_NaN());
    const auto seats = static_cast<std::size_t>(c_.spec.seats);
    G::outcome(c_.rules, s, std::span(out).first(seats));
    for (std::size_t i = 0; i < seats; ++i) {
      f_.expect(out[i] == 1.0F || out[i] == 0.0F || out[i] == -1.0F, "end",
                at(s, "an outcome that is not +1, 0 or -1"));
    }
    for (int seat = 0; seat < c_.spec.seats; ++seat) check_observation(s, seat);
    check_count(s, out[0]);
  }

  void check_count(const State& s, float outcome) {
    if constexpr (HasFinalScore<G>) {
      std::vector<std::int8_t> owner(static_cast<std::size_t>(c_.spec.counted_cells) + 1, 0x55);
      const auto points = G::final_score(c_.rules, s, std::span(owner).first(owner.size() - 1));
      f_.expect(owner.back() == 0x55, "count", at(s, "count writes beyond the counted cells"));
      if (!points) return;
      owner.pop_back();
      f_.expect(std::ranges::all_of(owner, [](std::int8_t o) { return o >= -1 && o <= 1; }),
                "count", at(s, "an owner that is not +1, 0 or -1"));
      const auto winner = static_cast<float>((*points > 0.0F) - (*points < 0.0F));
      f_.expect(winner == outcome, "count", at(s, "the points and the outcome disagree"));
    }
  }

  void check_replay(MatchSeed seed, const std::vector<SeatDriver>& drivers) {
    try {
      const Replay r = record_match<G>(c_, params_, seed, drivers, 16, max_ticks_);
      const std::string data = encode_replay(r);
      const ReplayCheck check =
          replay_verify<G>(decode_replay(std::as_bytes(std::span(data.data(), data.size()))));
      f_.expect(check.same, "replay", check.difference);
    } catch (const std::runtime_error& e) {
      f_.expect(false, "replay", e.what());
    }
  }

  Params params_;
  std::uint64_t seed_;
  std::uint32_t max_ticks_;
  MatchContext<G> c_;
  ObservationBuffer zeros_;
  ObservationBuffer ones_;
  Findings f_;
};

}  // namespace ludus
