// Slabs in plain vectors, and loops that drive a pool the way its users do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pool/pool.hpp"

namespace ludus::test {

struct TestSlab {
  TestSlab(const GameSpec& spec, int steps, int rows) {
    const auto t = static_cast<std::size_t>(steps);
    const auto r = static_cast<std::size_t>(rows);
    view.steps = steps;
    view.rows = rows;
    for (const TensorSpec& s : spec.observation) obs.emplace_back((t + 1) * r * s.bytes());
    for (std::size_t i = 0; i < obs.size(); ++i) view.obs[i] = obs[i].data();
    mask.resize((t + 1) * r * spec.mask_bytes());
    active.resize((t + 1) * r);
    is_first.resize((t + 1) * r);
    policy.resize((t + 1) * r);
    reward.resize(t * r);
    terminated.resize(t * r);
    truncated.resize(t * r);
    actions.resize(t * r * spec.heads.size());
    view.mask = mask.data();
    view.active = active.data();
    view.is_first = is_first.data();
    view.policy = policy.data();
    view.reward = reward.data();
    view.terminated = terminated.data();
    view.truncated = truncated.data();
    view.actions = actions.data();
  }
  SlabView view;
  std::vector<std::vector<std::byte>> obs;
  std::vector<std::uint8_t> mask, active, is_first, terminated, truncated;
  std::vector<std::int16_t> policy;
  std::vector<float> reward;
  std::vector<std::int32_t> actions;
};

inline Controller a_bot(int bot, double weight = 1.0) { return {bot, -1, weight}; }
inline Controller a_policy(int policy, double weight = 1.0) { return {-1, policy, weight}; }
inline SeatPlan plan(std::vector<Controller> who, int frame_skip = 0) {
  return {std::move(who), frame_skip, -1, 0};
}

// Everything that a run gives, in an order that does not depend on groups.
struct Run {
  std::vector<RawResult> results;  // by match
  std::vector<std::vector<std::int32_t>>
      final_rows;                                 // [t] rows whose match ended between t and t+1
  std::vector<std::vector<std::byte>> final_obs;  // [t] first tensor of each of them
};

inline constexpr std::uint64_t kWait = 2'000'000'000;

inline void take_results(AnyPool& pool, int group, Run& run) {
  pool.drain_results(group, [&](RawResult& r) { run.results.push_back(r); });
}

// Drives all groups through the whole slab with legal random actions; the last step is received.
inline Run drive(AnyPool& pool, TestSlab& slab, std::uint64_t seed = 5) {
  Run run;
  const int groups = pool.options().groups;
  const int steps = slab.view.steps;
  run.final_rows.resize(static_cast<std::size_t>(steps));
  run.final_obs.resize(static_cast<std::size_t>(steps));
  for (int g = 0; g < groups; ++g) pool.attach(g, slab.view);
  for (int t = 0; t <= steps; ++t) {
    for (int g = 0; g < groups; ++g) {
      if (pool.recv(g, kWait) != g || pool.time(g) != t) throw std::logic_error("recv");
      take_results(pool, g, run);
      const FinalBuffer& last = pool.final_buffer(g);
      for (int i = 0; i < last.count; ++i) {
        const auto before = static_cast<std::size_t>(t - 1);
        run.final_rows[before].push_back(last.rows[static_cast<std::size_t>(i)]);
        const std::size_t bytes = pool.spec().observation[0].bytes();
        const std::byte* from = last.obs[0].data() + static_cast<std::size_t>(i) * bytes;
        run.final_obs[before].insert(run.final_obs[before].end(), from, from + bytes);
      }
      if (t < steps) {
        pool.random_actions(g, seed);
        pool.send(g);
      }
    }
  }
  std::sort(run.results.begin(), run.results.end(),
            [](const RawResult& a, const RawResult& b) { return a.match < b.match; });
  return run;
}

inline std::string text_of(const RawResult& r) {
  std::string s = std::to_string(r.match) + "/" + std::to_string(r.slot) + " tag " +
                  std::to_string(r.tag) + " ticks " + std::to_string(r.ticks) + " decisions " +
                  std::to_string(r.decisions) + (r.truncated ? " truncated" : "") + " '" + r.error +
                  "'";
  for (int i = 0; i < 3; ++i) {
    const auto n = static_cast<std::size_t>(i);
    s += " " + std::to_string(r.player[n]) + ":" + std::to_string(r.outcome[n]) + ":" +
         std::to_string(r.returns[n]);
  }
  return s;
}

inline std::vector<std::string> texts_of(const Run& run) {
  std::vector<std::string> out;
  for (const RawResult& r : run.results) out.push_back(text_of(r));
  return out;
}

}  // namespace ludus::test
