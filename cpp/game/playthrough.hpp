// A match as text with everything observable in it, to read and to diff; and the digest of the same
// things as one number, from which the signature of all games is made.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "game/match.hpp"
#include "game/spec_json.hpp"

namespace ludus {

[[nodiscard]] inline std::string hex16(std::uint64_t v) {
  char buffer[17];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(v));
  return buffer;
}

// Memory for one seat's packed observation, by tensor.
class ObservationBuffer {
 public:
  explicit ObservationBuffer(const GameSpec& spec) {
    for (const TensorSpec& t : spec.observation) bytes_.emplace_back(t.bytes());
    for (auto& b : bytes_) pointers_.push_back(b.data());
  }
  [[nodiscard]] std::span<std::byte* const> pointers() const { return pointers_; }
  [[nodiscard]] const std::vector<std::byte>& tensor(std::size_t i) const { return bytes_[i]; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::byte*> pointers_;
};

namespace detail {

inline std::string bytes_text(const std::vector<std::byte>& bytes) {
  if (bytes.size() > 64) {
    Hash64 h;
    h.add_bytes(bytes.data(), bytes.size());
    return std::to_string(bytes.size()) + " bytes, hash " + hex16(h.value());
  }
  std::string text;
  constexpr char kHex[] = "0123456789abcdef";
  for (const std::byte b : bytes) {
    text += kHex[std::to_integer<unsigned>(b) >> 4];
    text += kHex[std::to_integer<unsigned>(b) & 15U];
  }
  return text;
}

inline std::string floats_text(std::span<const float> values) {
  std::string text;
  char buffer[32];
  for (const float v : values) {
    std::snprintf(buffer, sizeof buffer, "%s%.9g", text.empty() ? "" : " ", static_cast<double>(v));
    text += buffer;
  }
  return text;
}

}  // namespace detail

// The first `steps` decision points of a match, as text.
template <Game G>
std::string playthrough(const Params& params, MatchSeed seed, std::span<const SeatDriver> drivers,
                        int steps) {
  MatchContext<G> c(params);
  ObservationBuffer obs(c.spec);
  typename G::State state{};
  Rng rng(seed, kUniformStream);
  G::reset(c.rules, state, seed);
  std::string out = "game " + c.spec.name + " version " + std::to_string(c.spec.version) +
                    "\nspec " + spec_json(c.spec) + "\nseed " + std::to_string(seed.seed) +
                    " match " + std::to_string(seed.match) + "\n";
  std::vector<float> sums(drivers.size(), 0.0F);
  std::vector<float> now(drivers.size(), 0.0F);
  ReplayRecorder log;
  for (int step = 0; step < steps && !G::status(c.rules, state).over;) {
    const std::uint32_t tick = G::tick(state);
    const SeatMask seats = G::to_act(c.rules, state);
    const std::string hash = hex16(G::hash(c.rules, state));
    log.prepare(c.spec, params, 1, 16, 1);
    const typename G::State before = state;
    if (decide<G>(c, state, drivers, rng, &log) > 0) {
      ++step;
      out += "\ntick " + std::to_string(tick) + " hash " + hash + " to_act " +
             std::to_string(seats) + "\nview " + G::view(c.rules, before) + "\n";
      for (int s = 0; s < static_cast<int>(drivers.size()); ++s) {
        const std::string who = "seat " + std::to_string(s) + " ";
        G::observe(c.rules, before, s, obs.pointers());
        for (std::size_t i = 0; i < c.spec.observation.size(); ++i) {
          out += who + c.spec.observation[i].name + " " + detail::bytes_text(obs.tensor(i)) + "\n";
        }
        G::legal(c.rules, before, s, c.mask.data());
        out += who + "legal ";
        for (const std::uint8_t m : c.mask) out += m != 0 ? '1' : '0';
        out += '\n';
      }
      const Replay& r = log.finish(tick + 1, 0, false, {}, {});
      std::size_t next = 0;
      for (const Decision& d : r.decisions) {
        out += "seat " + std::to_string(d.seat) + " decides ";
        if (d.bot >= 0) out += "as bot " + c.spec.bots[static_cast<std::size_t>(d.bot)].name;
        for (std::size_t h = 0; d.bot < 0 && h < c.spec.heads.size(); ++h) {
          out += c.spec.heads[h].name + "=" + std::to_string(r.actions[next++]) + " ";
        }
        out += '\n';
      }
    }
    G::advance(c.rules, state);
    G::rewards(c.rules, state, now);
    for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += now[s];
  }
  out += "\nend tick " + std::to_string(G::tick(state)) + " hash " +
         hex16(G::hash(c.rules, state)) + "\nreturns " + detail::floats_text(sums) + "\n";
  const Status status = G::status(c.rules, state);
  if (status.over) {
    G::outcome(c.rules, state, now);
    out += std::string(status.truncated ? "truncated" : "over") + " outcome " +
           detail::floats_text(now) + "\n";
  }
  return out;
}

// Every state hash, observation, mask, reward and the outcome of one match, as one number. Views
// and descriptions are left out: they may change without a change of behaviour.
template <Game G>
std::uint64_t match_digest(MatchContext<G>& c, MatchSeed seed, std::span<const SeatDriver> drivers,
                           std::uint32_t max_ticks) {
  ObservationBuffer obs(c.spec);
  typename G::State state{};
  Rng rng(seed, kUniformStream);
  Hash64 h;
  std::vector<float> now(drivers.size(), 0.0F);
  G::reset(c.rules, state, seed);
  h.add(G::hash(c.rules, state));
  while (!G::status(c.rules, state).over && G::tick(state) < max_ticks) {
    if (decide<G>(c, state, drivers, rng) > 0) {
      for (int s = 0; s < static_cast<int>(drivers.size()); ++s) {
        G::observe(c.rules, state, s, obs.pointers());
        for (std::size_t i = 0; i < c.spec.observation.size(); ++i) {
          h.add_bytes(obs.tensor(i).data(), obs.tensor(i).size());
        }
        G::legal(c.rules, state, s, c.mask.data());
        h.add_bytes(c.mask.data(), c.mask.size());
      }
    }
    G::advance(c.rules, state);
    h.add(G::hash(c.rules, state));
    G::rewards(c.rules, state, now);
    for (const float r : now) h.add_float(r);
  }
  if (G::status(c.rules, state).over) {
    G::outcome(c.rules, state, now);
    for (const float r : now) h.add_float(r);
  }
  return h.value();
}

// The behaviour of a game under its default parameters: matches of random actions and of every bot
// against every bot, with fixed seeds.
template <Game G>
std::uint64_t game_signature() {
  constexpr std::uint32_t kTicks = 4000;
  MatchContext<G> c{Params{}};
  Hash64 h;
  h.add(static_cast<std::uint64_t>(c.spec.version));
  const auto bots = static_cast<int>(c.spec.bots.size());
  std::uint64_t match = 0;
  for (int a = -1; a < bots; ++a) {
    for (int b = -1; b < bots; ++b) {
      std::vector<SeatDriver> drivers;
      for (int s = 0; s < c.spec.seats; ++s) {
        drivers.push_back({s % 2 == 0 ? a : b, c.spec.default_frame_skip});
      }
      for (int i = 0; i < 2; ++i) h.add(match_digest<G>(c, {2026, match++}, drivers, kTicks));
    }
  }
  return h.value();
}

}  // namespace ludus
