// Many matches in parallel, for any game: groups, time steps, results and settings. Pool<G> adds
// the game. Everything here is called from one thread, the pool's caller, but for the ShardWork
// part.
//
// Life of a group:   attach -> (starts) -> recv -> send -> recv -> ... -> attach -> recv -> ...
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pool/orders.hpp"
#include "pool/scheduler.hpp"
#include "pool/snapshot.hpp"
#include "pool/step_io.hpp"

namespace ludus {

// A match that threw, for a caller that handles errors at once.
struct MatchFailure {
  int slot = 0;
  std::uint64_t match = 0;
  std::uint32_t tick = 0;
  std::string message;
};

// A slot as a snapshot holds it, for a pool of other settings to take over.
struct StoredSlot {
  std::uint64_t next = 0;  // number of the slot's next match
  std::string match;       // the match in play, opaque; empty: the next one is due
  std::vector<std::pair<int, int>> players;  // seat and policy of it
};

struct PoolCounters {
  Counts counts;
  Scheduler::Times times;
  std::uint64_t recv_wait_ns = 0;
};

class AnyPool : protected ShardWork {
 public:
  virtual ~AnyPool() = default;
  AnyPool(const AnyPool&) = delete;
  AnyPool& operator=(const AnyPool&) = delete;

  [[nodiscard]] const GameSpec& spec() const { return spec_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const PoolOptions& options() const { return options_; }

  // The group writes into `slab` from t = 0 on. The first attach starts its matches.
  void attach(int group, const SlabView& slab) {
    Group& g = idle_group(group, "attach");
    if (slab.rows != layout_.rows) {
      throw PoolError("attach: the slab has " + std::to_string(slab.rows) + " rows, the pool " +
                      std::to_string(layout_.rows));
    }
    if (slab.steps < 1) throw PoolError("attach: the slab has no steps");
    g.slab = slab;
    g.t = 0;
    g.last.count = 0;
    if (g.started) {
      rewrite_time_step(group, g.slab, 0);
      list_rows(g);
      scheduler_->announce(group);
      g.state = State::ready;
    } else {
      play(group, g, -1);
    }
  }

  // Takes the actions of the group's active rows and plays on in the background. Never blocks.
  void send(int group) {
    Group& g = idle_group(group, "send");
    if (g.state != State::received)
      throw PoolError("send: receive group " + std::to_string(group) + " first");
    if (layout_.rows > 0 && g.t >= g.slab.steps) {
      throw PoolError("send: the slab of group " + std::to_string(group) + " is full (t = T = " +
                      std::to_string(g.slab.steps) + "); attach the next one");
    }
    play(group, g, layout_.rows > 0 ? g.t : -1);
    if (layout_.rows > 0) ++g.t;
  }

  // Waits until the group, or with -1 any group, is ready; -1 after about `patience_ns` without.
  int recv(int group, std::uint64_t patience_ns) {
    open_or_throw("recv");
    if (group >= 0) {
      Group& g = group_at(group);
      if (g.state == State::received) return group;  // the same time step again
      if (layout_.rows == 0 && !g.started) play(group, g, -1);
      if (g.state == State::detached) {
        throw PoolError("recv: attach a slab to group " + std::to_string(group) + " first");
      }
    } else {
      any_or_throw();
    }
    const std::uint64_t begin = now_ns();
    const int found = scheduler_->wait(group, patience_ns);
    recv_wait_ns_ += now_ns() - begin;
    if (found >= 0) {
      Group& g = group_at(found);
      g.state = State::received;
      g.finished = g.idle;
    }
    return found;
  }

  // For a received group.
  [[nodiscard]] int time(int group) const { return groups_[static_cast<std::size_t>(group)].t; }
  [[nodiscard]] int finals(int group) const {
    return groups_[static_cast<std::size_t>(group)].last.count;
  }
  [[nodiscard]] int results_waiting(int group) const {
    return groups_[static_cast<std::size_t>(group)].results;
  }
  [[nodiscard]] std::span<const std::int32_t> policy_counts(int group) const {
    return groups_[static_cast<std::size_t>(group)].policy_counts;
  }
  // Borrowed for the life of the pool: [group rows], of which policy_counts are in use.
  [[nodiscard]] std::span<std::int32_t> policy_rows(int group, int policy) {
    Group& g = group_at(group);
    return g.policy_rows.at(static_cast<std::size_t>(policy));
  }
  [[nodiscard]] FinalBuffer& final_buffer(int group) { return group_at(group).last; }
  // Every slot of the group has played all its matches, and the caller has received all results.
  [[nodiscard]] bool group_finished(int group) {
    const Group& g = group_at(group);
    return g.finished && (g.state != State::received || g.results == 0);
  }

  // Moves the results of the group's finished matches out, by slot and then in playing order.
  template <class Fn>
  void drain_results(int group, Fn&& take) {
    Group& g = group_at(group);
    if (g.results == 0) return;
    const Range slots = layout_.group_slots[static_cast<std::size_t>(group)];
    for (int s = slots.begin; s < slots.end; ++s) {
      const auto n = static_cast<std::size_t>(s);
      for (int i = 0; i < result_counts_[n]; ++i) {
        take(results_[n * kMaxResultsPerStep + static_cast<std::size_t>(i)]);
      }
      result_counts_[n] = 0;
    }
    g.results = 0;
  }

  // The first match, by slot, that threw in the group's last step; to be asked before its results
  // are drained.
  [[nodiscard]] std::optional<MatchFailure> failure(int group) {
    Group& g = group_at(group);
    if (!g.failed) return std::nullopt;
    g.failed = false;
    const Range slots = layout_.group_slots[static_cast<std::size_t>(group)];
    for (int s = slots.begin; s < slots.end; ++s) {
      const auto n = static_cast<std::size_t>(s);
      for (int i = 0; i < result_counts_[n]; ++i) {
        const RawResult& r = results_[n * kMaxResultsPerStep + static_cast<std::size_t>(i)];
        if (!r.error.empty()) return MatchFailure{s, r.match, r.ticks, r.error};
      }
    }
    return std::nullopt;
  }

  void set_handover(int plan, std::uint32_t ticks) {
    const auto p = plan_or_throw(plan, "set_handover");
    if (ticks > 0 && options_.lineup.plans[p].handover_bot < 0) {
      throw PoolError("set_handover: plan " + std::to_string(plan) + " has no handover bot");
    }
    settings_.handover[p] = ticks;
  }

  void set_mixture(int plan, const std::vector<double>& weights) {
    const auto p = plan_or_throw(plan, "set_mixture");
    const std::size_t wanted = settings_.weights[p].size();
    double total = 0.0;
    for (const double w : weights) total += w >= 0.0 && w <= 1e12 ? w : -1e30;
    if (weights.size() != wanted || !(total > 0.0)) {
      throw PoolError("set_mixture: plan " + std::to_string(plan) + " wants " +
                      std::to_string(wanted) + " weights, none negative, with a positive sum");
    }
    settings_.weights[p] = weights;
  }

  // How far teams share what they earn (team_rewards.hpp), in every step from a group's next send.
  void set_spirit(double spirit) {
    const std::string wrong = TeamRewards::problem(spec_, spirit, options_.zero_sum);
    if (!wrong.empty()) throw PoolError("set_spirit: " + spec_.name + ": " + wrong);
    settings_.spirit = spirit;
  }

  // For every match that a slot starts after its group's next send, until the next call.
  void set_orders(Orders orders) {
    if (orders.slots() != layout_.slots || orders.plans() != options_.lineup.plans.size()) {
      throw PoolError("set_orders: expected [" + std::to_string(layout_.slots) + " slots, " +
                      std::to_string(options_.lineup.plans.size()) + " plans]");
    }
    if (const std::string wrong = orders.wrong(options_.lineup, first_plans_); !wrong.empty()) {
      throw PoolError("set_orders: " + wrong);
    }
    replace_orders(std::move(orders));
  }

  // The matches of a group that is not playing: by slot the tag, and [slots * plans] controllers;
  // tag 0 and controllers -1 where no match is in play.
  void in_play(int group, std::span<std::uint64_t> tags, std::span<std::int32_t> controllers) {
    idle_group(group, "in_play");
    const Range slots = layout_.group_slots[static_cast<std::size_t>(group)];
    const std::size_t plans = options_.lineup.plans.size();
    const auto n = static_cast<std::size_t>(slots.size());
    if (tags.size() != n || controllers.size() != n * plans) {
      throw PoolError("in_play: the arrays do not have the shape of the group");
    }
    std::ranges::fill(controllers, -1);
    for (std::size_t i = 0; i < n; ++i) {
      tags[i] =
          slot_in_play(slots.begin + static_cast<int>(i), controllers.subspan(i * plans, plans));
    }
  }

  // The slots start their next match at the next send; a match in play ends truncated there.
  void reset(std::span<const int> slots) {
    for (const int s : slots) {
      if (s < 0 || s >= layout_.slots) {
        throw PoolError("reset: slot " + std::to_string(s) + ", expected 0.." +
                        std::to_string(layout_.slots - 1));
      }
      idle_group(layout_.group_of(s), "reset");
    }
    for (const int s : slots) ask_reset(s);
  }

  // Legal random choices for the active rows of a received group, the same for any grouping.
  void random_actions(int group, std::uint64_t seed) {
    Group& g = idle_group(group, "random_actions");
    if (layout_.rows == 0) return;
    if (g.t >= g.slab.steps) throw PoolError("random_actions: the slab is full");
    fill_random(group, g.slab, g.t, seed);
  }

  [[nodiscard]] PoolCounters counters() const {
    PoolCounters out;
    for (const auto& lane : tallies_) {
      const auto get = [](const std::atomic<std::uint64_t>& a) {
        return a.load(std::memory_order_relaxed);
      };
      out.counts.ticks += get(lane->ticks);
      out.counts.decisions += get(lane->decisions);
      out.counts.bot_decisions += get(lane->bot_decisions);
      out.counts.matches += get(lane->matches);
      out.counts.errors += get(lane->errors);
    }
    out.times = scheduler_->times();
    out.recv_wait_ns = recv_wait_ns_;
    return out;
  }

  // For a slot whose group is not playing.
  [[nodiscard]] virtual std::uint64_t slot_hash(int slot) = 0;
  [[nodiscard]] virtual std::string slot_view(int slot) = 0;
  [[nodiscard]] virtual std::string slot_state(int slot) = 0;  // the bytes of G::State

  // The exact state of all matches, streams and settings, between recv and send of all groups.
  [[nodiscard]] std::string snapshot() {
    for (int g = 0; g < options_.groups; ++g) {
      if (idle_group(g, "snapshot").state != State::received) {
        throw PoolError("snapshot: receive group " + std::to_string(g) + " first");
      }
    }
    SnapshotWriter out = write_head(standing_);
    save_slots(out);
    return out.finish();
  }

  // The slots of a snapshot that restore() would take. Throws PoolError as it does, and for matches
  // that are recorded.
  [[nodiscard]] std::vector<StoredSlot> snapshot_parts(std::string_view data) const {
    SnapshotReader in(data);
    read_head(in);
    return read_parts(in);
  }

  // A snapshot of this pool without orders, with other slots: matches that snapshot_parts() of a
  // pool of the same game and build returned. It is checked when it is restored.
  [[nodiscard]] std::string snapshot_join(std::span<const StoredSlot> slots) {
    for (int g = 0; g < options_.groups; ++g) idle_group(g, "snapshot_join");
    if (slots.size() != static_cast<std::size_t>(layout_.slots)) {
      throw PoolError("snapshot_join: " + std::to_string(slots.size()) + " slots, expected " +
                      std::to_string(layout_.slots));
    }
    SnapshotWriter out = write_head(Orders(layout_.slots, options_.lineup.plans.size()));
    write_parts(slots, out);
    return out.finish();
  }

  // Back to a snapshot, which the caller trusts (snapshot.hpp), of a pool made with the same
  // arguments (threads, groups apart): attach, receive. Throws PoolError, changing nothing, if it
  // does not fit.
  void restore(std::string_view data) {
    for (int g = 0; g < options_.groups; ++g) idle_group(g, "restore");
    SnapshotReader in(data);
    auto [settings, orders] = read_head(in);
    load_slots(in);  // changes the slots only when all of them are right
    settings_ = std::move(settings);
    replace_orders(std::move(orders));
    for (int i = 0; i < options_.groups; ++i) resume_group(i);
  }

  // Stops the workers, matches in flight included. Idempotent.
  void close() { scheduler_->stop(); }
  [[nodiscard]] bool closed() const { return scheduler_->stopping().load(); }

 protected:
  AnyPool(GameSpec spec, PoolOptions options)
      : spec_((check_options(spec, options), std::move(spec))),
        options_(std::move(options)),
        layout_(make_layout(spec_.seats, spec_.turns(), options_)),
        first_plans_(first_plans(options_.lineup.plans.size(), spec_.teams)),
        standing_(layout_.slots, options_.lineup.plans.size()),
        in_force_(standing_),
        result_counts_(static_cast<std::size_t>(layout_.slots)),
        results_(static_cast<std::size_t>(layout_.slots) * kMaxResultsPerStep),
        scheduler_(std::make_unique<Scheduler>(static_cast<ShardWork&>(*this), layout_,
                                               options_.threads)) {
    for (const SeatPlan& p : options_.lineup.plans) {
      std::vector<double> weights;
      for (const Controller& c : p.controllers) weights.push_back(c.weight);
      settings_.weights.push_back(std::move(weights));
      settings_.handover.push_back(p.handover_ticks);
    }
    settings_.spirit = options_.spirit;
    groups_.resize(static_cast<std::size_t>(options_.groups));
    for (int i = 0; i < options_.groups; ++i) make_group(i);
    for (int w = 0; w < std::max(1, options_.threads); ++w)
      tallies_.push_back(std::make_unique<Tally>());
  }

  // The most derived class starts the workers when it is whole, and closes before it dies.
  void start_workers() { scheduler_->start(); }

  // Plays slots [first, end) through `step`; fills result counts.
  virtual void play_slots(Range slots, const Step& step, std::span<int> result_counts,
                          std::span<RawResult> results, Counts& counts) noexcept = 0;
  virtual void rewrite_slot(int slot, const SlabView& slab, int now) = 0;
  virtual void random_slot(int slot, const SlabView& slab, int now, std::uint64_t seed) = 0;
  virtual bool slot_idle(int slot) const = 0;
  virtual void ask_reset(int slot) = 0;
  virtual std::uint64_t slot_in_play(int slot, std::span<std::int32_t> controllers) const = 0;
  virtual std::string describe() const = 0;
  virtual void save_slots(SnapshotWriter& out) = 0;
  virtual void load_slots(SnapshotReader& in) = 0;                           // to the end of `in`
  virtual std::vector<StoredSlot> read_parts(SnapshotReader& in) const = 0;  // the same
  virtual void write_parts(std::span<const StoredSlot> slots, SnapshotWriter& out) = 0;

  void idle_slot_or_throw(int slot, const char* what) {
    if (slot < 0 || slot >= layout_.slots) {
      throw PoolError(std::string(what) + ": slot " + std::to_string(slot) + ", expected 0.." +
                      std::to_string(layout_.slots - 1));
    }
    idle_group(layout_.group_of(slot), what);
  }

 private:
  enum class State : std::uint8_t { detached, playing, ready, received };

  struct Group {
    State state = State::detached;
    bool started = false, idle = false, finished = false, failed = false;
    bool orders_changed = false;  // since its last send
    SlabView slab;
    int t = 0;
    Step step;
    Settings settings;
    FinalBuffer last;
    std::vector<std::vector<std::int32_t>> policy_rows;  // [policy][rows of the group]
    std::vector<std::int32_t> policy_counts;             // [policy]
    int results = 0;
  };
  struct alignas(64) Tally {  // written by one worker, read by anyone
    std::atomic<std::uint64_t> ticks{0}, decisions{0}, bot_decisions{0}, matches{0}, errors{0};
    void add(const Counts& c) {
      const auto more = [](std::atomic<std::uint64_t>& a, std::uint64_t n) {
        a.store(a.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
      };
      more(ticks, c.ticks);
      more(decisions, c.decisions);
      more(bot_decisions, c.bot_decisions);
      more(matches, c.matches);
      more(errors, c.errors);
    }
  };

  void make_group(int index) {
    Group& g = groups_[static_cast<std::size_t>(index)];
    const Range rows = layout_.group_rows[static_cast<std::size_t>(index)];
    const auto n = static_cast<std::size_t>(rows.size());
    g.settings = settings_;
    g.slab.rows = layout_.rows;
    g.last.first_row = rows.begin;
    g.last.written.resize(n);
    g.last.rows.resize(n);
    for (std::size_t i = 0; i < spec_.observation.size(); ++i) {
      g.last.obs[i].resize(n * spec_.observation[i].bytes());
    }
    g.policy_rows.resize(static_cast<std::size_t>(layout_.policies));
    for (auto& list : g.policy_rows) list.resize(n);
    g.policy_counts.resize(static_cast<std::size_t>(layout_.policies));
  }

  // The part of a snapshot before its slots.
  [[nodiscard]] SnapshotWriter write_head(const Orders& orders) const {
    SnapshotWriter out(settings_.spirit != 0.0 ? kFirstWithSpirit : kFirstWithOrders);
    out.text(describe());
    for (const auto& weights : settings_.weights) {
      for (const double w : weights) out.value(w);
    }
    for (const std::uint32_t ticks : settings_.handover) out.value(ticks);
    if (settings_.spirit != 0.0) out.value(settings_.spirit);
    orders.save(out);
    return out;
  }

  std::pair<Settings, Orders> read_head(SnapshotReader& in) const {
    const std::string ours = describe();
    if (const std::string_view theirs = in.text(); theirs != ours) {
      throw PoolError("restore: " + first_difference(theirs, ours));
    }
    Settings settings = settings_;
    for (auto& weights : settings.weights) {
      double total = 0.0;
      for (double& w : weights) {
        w = in.value<double>();
        total += w >= 0.0 && w <= 1e12 ? w : -1e30;
      }
      if (!(total > 0.0)) in.refuse("weights of a mixture out of range");
    }
    for (std::uint32_t& ticks : settings.handover) ticks = in.value<std::uint32_t>();
    settings.spirit = in.has_spirit() ? in.value<double>() : 0.0;
    if (!TeamRewards::problem(spec_, settings.spirit, false).empty()) in.refuse("spirit");
    Orders orders(layout_.slots, options_.lineup.plans.size());
    if (in.has_orders()) orders.load(in);
    if (const std::string wrong = orders.wrong(options_.lineup, first_plans_); !wrong.empty()) {
      in.refuse("orders: " + wrong);
    }
    return {std::move(settings), std::move(orders)};
  }

  void resume_group(int index) {
    Group& g = groups_[static_cast<std::size_t>(index)];
    drain_results(index, [](RawResult&) {});
    g.failed = false;
    g.started = true;
    g.last.count = 0;
    g.t = 0;
    g.state = layout_.rows > 0 ? State::detached : State::received;
    const Range slots = layout_.group_slots[static_cast<std::size_t>(index)];
    g.idle = true;
    for (int s = slots.begin; s < slots.end; ++s) g.idle = g.idle && slot_idle(s);
    g.finished = g.idle;
  }

  void replace_orders(Orders orders) {
    standing_ = std::move(orders);
    for (Group& g : groups_) g.orders_changed = true;
  }

  void play(int group, Group& g, int before) {
    // The same shapes every time, so the copies allocate nothing.
    for (std::size_t p = 0; p < settings_.weights.size(); ++p) {
      std::copy(settings_.weights[p].begin(), settings_.weights[p].end(),
                g.settings.weights[p].begin());
    }
    std::copy(settings_.handover.begin(), settings_.handover.end(), g.settings.handover.begin());
    g.settings.spirit = settings_.spirit;
    if (g.orders_changed) {
      in_force_.copy_slots(standing_, layout_.group_slots[static_cast<std::size_t>(group)]);
      g.orders_changed = false;
    }
    drain_results(group, [](RawResult&) {});  // results that the caller has not drained are dropped
    g.failed = false;
    g.last.count = 0;
    g.started = true;
    g.state = State::playing;
    g.step = {
        &g.slab, before + 1, before, &g.settings, &in_force_, &g.last, &scheduler_->stopping()};
    scheduler_->send(group);
  }

  void play_shard(int worker, int group, int shard) noexcept final {
    Counts counts;
    const Range slots = layout_.shards[static_cast<std::size_t>(shard)];
    play_slots(slots, groups_[static_cast<std::size_t>(group)].step, result_counts_, results_,
               counts);
    tallies_[static_cast<std::size_t>(worker)]->add(counts);
  }

  void close_group(int group) noexcept final {
    Group& g = groups_[static_cast<std::size_t>(group)];
    const Range slots = layout_.group_slots[static_cast<std::size_t>(group)];
    g.results = 0;
    for (int s = slots.begin; s < slots.end; ++s) {
      const auto n = static_cast<std::size_t>(s);
      g.results += result_counts_[n];
      for (int i = 0; i < result_counts_[n]; ++i) {
        g.failed = g.failed ||
                   !results_[n * kMaxResultsPerStep + static_cast<std::size_t>(i)].error.empty();
      }
    }
    g.idle = true;
    for (int s = slots.begin; s < slots.end && g.idle; ++s) g.idle = slot_idle(s);
    pack_finals(g);
    list_rows(g);
  }

  // Moves the written last observations to the front, in rising order of rows.
  void pack_finals(Group& g) noexcept {
    FinalBuffer& last = g.last;
    last.count = 0;
    for (std::size_t row = 0; row < last.written.size(); ++row) {
      if (last.written[row] == 0) continue;
      last.written[row] = 0;
      const auto to = static_cast<std::size_t>(last.count++);
      last.rows[to] = last.first_row + static_cast<std::int32_t>(row);
      if (to == row) continue;
      for (std::size_t i = 0; i < spec_.observation.size(); ++i) {
        const std::size_t bytes = spec_.observation[i].bytes();
        std::copy_n(last.obs[i].data() + row * bytes, bytes, last.obs[i].data() + to * bytes);
      }
    }
  }

  void list_rows(Group& g) noexcept {
    std::fill(g.policy_counts.begin(), g.policy_counts.end(), 0);
    const int first = g.last.first_row;
    const std::int16_t* policy = g.slab.policy + g.slab.at(g.step.now, 0);
    for (int row = first; row < first + static_cast<int>(g.last.written.size()); ++row) {
      if (policy[row] < 0) continue;
      const auto p = static_cast<std::size_t>(policy[row]);
      g.policy_rows[p][static_cast<std::size_t>(g.policy_counts[p]++)] = row;
    }
  }

  void rewrite_time_step(int group, const SlabView& slab, int now) {
    const Range slots = layout_.group_slots[static_cast<std::size_t>(group)];
    for (int s = slots.begin; s < slots.end; ++s) rewrite_slot(s, slab, now);
    groups_[static_cast<std::size_t>(group)].step.now = now;
  }

  void fill_random(int group, const SlabView& slab, int now, std::uint64_t seed) {
    const Range slots = layout_.group_slots[static_cast<std::size_t>(group)];
    for (int s = slots.begin; s < slots.end; ++s) random_slot(s, slab, now, seed);
  }

  Group& group_at(int group) {
    if (group < 0 || group >= options_.groups) {
      throw PoolError("group " + std::to_string(group) + ", expected 0.." +
                      std::to_string(options_.groups - 1));
    }
    return groups_[static_cast<std::size_t>(group)];
  }
  Group& idle_group(int group, const char* what) {
    open_or_throw(what);
    Group& g = group_at(group);
    if (g.state == State::playing) {
      throw PoolError(std::string(what) + ": group " + std::to_string(group) +
                      " is playing; receive it first");
    }
    return g;
  }
  void open_or_throw(const char* what) const {
    if (closed()) throw PoolError(std::string(what) + ": the pool is closed");
  }
  void any_or_throw() {
    bool any = false;
    for (int i = 0; i < options_.groups; ++i) {
      Group& g = groups_[static_cast<std::size_t>(i)];
      if (layout_.rows == 0 && !g.started) play(i, g, -1);
      any = any || g.state == State::playing || g.state == State::ready;
    }
    if (any) return;
    throw PoolError("recv: no group is playing; attach or send one first");
  }
  std::size_t plan_or_throw(int plan, const char* what) const {
    if (plan < 0 || plan >= static_cast<int>(options_.lineup.plans.size())) {
      throw PoolError(std::string(what) + ": plan " + std::to_string(plan) + ", expected 0.." +
                      std::to_string(options_.lineup.plans.size() - 1));
    }
    return static_cast<std::size_t>(plan);
  }

  const GameSpec spec_;
  const PoolOptions options_;
  const Layout layout_;
  const std::vector<std::size_t> first_plans_;  // [plan]
  Settings settings_;
  Orders standing_;
  Orders in_force_;  // a group's slots are written at its send, and read while it plays
  std::vector<Group> groups_;
  std::vector<int> result_counts_;  // [slots]
  std::vector<RawResult> results_;  // [slots * kMaxResultsPerStep]
  std::vector<std::unique_ptr<Tally>> tallies_;
  std::uint64_t recv_wait_ns_ = 0;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace ludus
