// Life cycle of the matches of one slot (episodes of one environment): start, play until a learned
// policy must decide, end, start the next. One MatchPlayer serves all slots of a pool from any
// number of threads; a slot is touched by one thread at a time.
//
// What a row (a seat that a learned policy may play) receives:
//   - its reward[t] is what its seat earned after decision t until the match next surfaces or ends,
//     once the row has decided in this match; what a seat earns before its first decision counts
//     only in the match's result. Teams may share it (team_rewards.hpp), by the settings of the
//     send after decision t; results and replays keep the game's own rewards;
//   - terminated/truncated[t] is set for every row that has decided in the match, whether or not
//     it decided at t. A match in which a row never decided - a bot drew its seat, or the match
//     ended before its turn - shows only in the results.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <span>
#include <string>

#include "game/mask.hpp"
#include "game/replay.hpp"
#include "pool/layout.hpp"
#include "pool/orders.hpp"
#include "pool/snapshot.hpp"
#include "pool/step_io.hpp"
#include "pool/team_rewards.hpp"

namespace ludus {

enum class Phase : std::uint8_t {
  start,     // the next step starts the next match
  surfaced,  // waits for the decisions of `active_seats`
  ended,     // autoreset off: waits for reset()
  idle,      // all matches of the slot have been played
};

// The pool's own state of a slot's match, apart from the game's. Stored in snapshots as it is.
struct MatchControl {
  std::uint64_t match = 0;  // being played
  std::uint64_t next = 0;   // number of the slot's next match
  Phase phase = Phase::start;
  std::uint8_t reset_asked = 0;
  std::uint8_t recording = 0;
  std::uint8_t unused = 0;
  std::uint32_t tick = 0;
  std::uint32_t next_due = 0;  // first tick at which frame skip lets some seat decide
  std::uint32_t decisions = 0;
  SeatMask due_seats = 0;       // seats that decide at the surfaced time step
  SeatMask active_seats = 0;    // subset of `due_seats` whose policy decides
  SeatMask decided_seats = 0;   // seats whose policy has decided in this match, or is asked now
  SeatMask first_decision = 0;  // subset of `active_seats` that decides for the first time
  SeatMask policy_seats = 0;    // seats whose controller in this match is a policy
  std::array<std::int16_t, kMaxSeats> policy{};  // -1: a bot
  std::array<std::int16_t, kMaxSeats> bot{};     // the drawn bot, or the handover bot of a policy
  std::array<std::uint32_t, kMaxSeats> handover{};  // the bot plays ticks below this
  std::array<float, kMaxSeats> earned{};            // since the last time step
  std::array<double, kMaxSeats> returns{};
};
static_assert(std::is_trivially_copyable_v<MatchControl>);

// Streams of a match's randomness that belong to the pool; a game's own count from 0.
inline constexpr std::uint64_t kPoolStream = 0x706f6f6c00000000ULL;

template <Game G>
struct alignas(64) Slot {
  typename G::State state;
  MatchControl control;
  std::uint64_t tag = 0;  // of the order under which the match started
};

template <Game G>
class MatchPlayer {
 public:
  MatchPlayer(const typename G::Rules& rules, const GameSpec& spec, const PoolOptions& options,
              const Layout& layout)
      : rules_(rules),
        options_(options),
        layout_(layout),
        masks_(spec),
        team_rewards_(spec, options.zero_sum) {
    const auto declared = static_cast<std::uint32_t>(std::max(spec.max_ticks, 0));
    cut_ = options.truncate_ticks;
    if (declared != 0 && (cut_ == 0 || declared < cut_)) cut_ = declared;
    tensors_ = static_cast<int>(spec.observation.size());
    for (int i = 0; i < tensors_; ++i) {
      tensor_bytes_[static_cast<std::size_t>(i)] =
          spec.observation[static_cast<std::size_t>(i)].bytes();
    }
    if constexpr (ObservesParts<G>) wanted_ = options.inputs;
    mask_bytes_ = spec.mask_bytes();
    for (const HeadSpec& h : spec.heads) head_sizes_.push_back(h.size);
    for (const BotSpec& b : spec.bots) bot_names_.push_back(b.name);
    for (int p = 0; p < layout.policies; ++p)
      policy_names_.push_back("policy:" + std::to_string(p));
    for (const SeatPlan& plan : options.lineup.plans) {
      for (const Controller& c : plan.controllers) {
        if (c.policy >= 0 && !c.name.empty())
          policy_names_[static_cast<std::size_t>(c.policy)] = c.name;
      }
    }
    const int usual = spec.default_frame_skip > 0 ? spec.default_frame_skip : 1;
    for (const SeatPlan& p : options.lineup.plans) {
      const int skip = spec.turn_based ? 1 : p.frame_skip > 0 ? p.frame_skip : usual;
      frame_skip_.push_back(static_cast<std::uint32_t>(skip));
      every_tick_ = every_tick_ && skip == 1;
    }
    seat_bits_ = (SeatMask{1} << layout.seats) - 1;
    demonstrator_ = demonstrators(options.lineup, layout.policies);
    draws_as_ = first_plans(options.lineup.plans.size(), spec.teams);
  }

  // Plays the slot from one time step to the next. `results` has room for kMaxResultsPerStep.
  // Returns how many of them were filled. Errors of the game end its match.
  int play(Slot<G>& slot, int index, const Step& step, RawResult* results, Counts& counts,
           ReplayRecorder* recorder) const noexcept {
    MatchControl& c = slot.control;
    clear_rows(index, step);
    int filled = 0;
    if (c.reset_asked != 0) {
      c.reset_asked = 0;
      if (c.phase == Phase::surfaced) {
        end(slot, index, step, {.over = true, .truncated = true}, "", false, results[filled++],
            counts, recorder);
      }
      if (c.phase != Phase::idle) c.phase = Phase::start;
    }
    while (true) {
      if (c.phase == Phase::start && c.next >= options_.num_matches) c.phase = Phase::idle;
      if (c.phase == Phase::idle || c.phase == Phase::ended) break;
      try {
        const bool decide_first = c.phase == Phase::surfaced;
        if (!decide_first) begin(slot, index, step, recorder);
        const Status status = run(slot, index, step, decide_first, counts, recorder);
        if (!status.over) {
          if (c.phase == Phase::surfaced) show(slot, index, step, counts);
          break;  // surfaced, or the pool is stopping
        }
        end(slot, index, step, status, "", true, results[filled++], counts, recorder);
      } catch (const std::exception& e) {
        fail(slot, index, step, e.what(), results[filled++], counts, recorder);
      } catch (...) {
        fail(slot, index, step, "unknown exception", results[filled++], counts, recorder);
      }
      // A row that has decided must see its end before the next match.
      const bool some_row_decided = c.decided_seats != 0;
      c.decided_seats = 0;
      c.phase = options_.autoreset == Autoreset::off ? Phase::ended : Phase::start;
      if (options_.autoreset == Autoreset::off || filled == kMaxResultsPerStep) break;
      if (options_.autoreset == Autoreset::next_step && some_row_decided) break;
    }
    if (c.phase != Phase::surfaced) hide_rows(index, *step.slab, step.now);
    return filled;
  }

  // Writes the slot's present time step into a newly attached slab.
  void rewrite(const Slot<G>& slot, int index, const SlabView& slab, int now) const {
    if (slot.control.phase == Phase::surfaced) {
      write_time_step(slot, index, slab, now);
    } else {
      hide_rows(index, slab, now);
    }
  }

  // Refuses what no pool could have written: the pool's own indices. The state is not looked at.
  void check_control(const MatchControl& c, int index, const SnapshotReader& in) const {
    const auto slots = static_cast<std::uint64_t>(layout_.slots);
    bool good = c.phase <= Phase::idle && c.reset_asked <= 1 && c.recording <= 1 && c.unused == 0;
    good = good && c.next % slots == static_cast<std::uint64_t>(index);
    good = good &&
           ((c.due_seats | c.active_seats | c.decided_seats | c.first_decision | c.policy_seats) &
            ~seat_bits_) == 0;
    good = good && (c.active_seats & ~(c.due_seats & c.policy_seats)) == 0 &&
           (c.first_decision & ~c.active_seats) == 0;
    good = good && (c.phase == Phase::surfaced) == (c.active_seats != 0);
    good = good && (c.phase != Phase::surfaced || c.match + slots == c.next);
    const int bots = static_cast<int>(bot_names_.size());
    for (int seat = 0; good && seat < layout_.seats; ++seat) {
      const auto s = static_cast<std::size_t>(seat);
      const bool is_policy = (c.policy_seats >> seat & 1) != 0;
      const bool row = layout_.row_of(index, seat) >= 0;
      good = c.policy[s] < layout_.policies && c.bot[s] < bots && (!is_policy || row);
      if (c.phase == Phase::surfaced) {  // otherwise begin() will draw them
        good = good && is_policy == (c.policy[s] >= 0) && (is_policy || c.bot[s] >= 0);
        good = good && (c.handover[s] == 0 || c.bot[s] >= 0);
      }
    }
    if (!good) in.refuse("slot " + std::to_string(index) + " holds values that no pool writes");
  }

  // For each plan of a match in play: the first controller of its list that is the one that plays.
  // False, changing nothing, between matches.
  bool controllers_in_play(const Slot<G>& slot, int index,
                           std::span<std::int32_t> controllers) const {
    const MatchControl& c = slot.control;
    if (c.phase != Phase::surfaced) return false;
    for (int seat = 0; seat < layout_.seats; ++seat) {
      const auto s = static_cast<std::size_t>(seat);
      const auto p = static_cast<std::size_t>(layout_.plan(index, seat));
      const auto& known = options_.lineup.plans[p].controllers;
      const auto mine = std::ranges::find_if(known, [&](const Controller& k) {
        return c.policy[s] >= 0 ? k.policy == c.policy[s] : k.policy < 0 && k.bot == c.bot[s];
      });
      controllers[p] = mine == known.end() ? -1 : static_cast<std::int32_t>(mine - known.begin());
    }
    return true;
  }

  // Legal random choices for the slot's active rows.
  void choose_at_random(const Slot<G>& slot, int index, const SlabView& slab, int now,
                        std::uint64_t seed) const {
    const MatchControl& c = slot.control;
    if (c.phase != Phase::surfaced) return;
    for (int row = first_row(index); row < first_row(index + 1); ++row) {
      const int seat = layout_.row_seat[static_cast<std::size_t>(row)];
      if ((c.active_seats >> seat & 1) == 0) continue;
      Rng rng({seed, c.match}, (std::uint64_t{c.tick} << 5) + static_cast<std::uint64_t>(seat));
      const std::uint8_t* mask = slab.mask + slab.at(now, row) * mask_bytes_;
      std::int32_t* action = slab.actions + slab.at(now, row) * head_sizes_.size();
      masks_.draw(mask, rng, std::span(action, head_sizes_.size()));
    }
  }

 private:
  [[nodiscard]] int first_row(int slot) const {
    return layout_.row_begin[static_cast<std::size_t>(slot)];
  }

  // Draws who plays and puts the game at its start.
  void begin(Slot<G>& slot, int index, const Step& step, ReplayRecorder* recorder) const {
    MatchControl& c = slot.control;
    const Settings& settings = *step.settings;
    slot.tag = step.orders->tag(index);
    const std::uint64_t number = c.next;
    c = MatchControl{};
    c.match = number;
    c.next = number + static_cast<std::uint64_t>(layout_.slots);
    const MatchSeed seed{options_.seed, number};
    for (int seat = 0; seat < layout_.seats; ++seat) {
      const auto s = static_cast<std::size_t>(seat);
      const auto p = static_cast<std::size_t>(layout_.plan(index, seat));
      const SeatPlan& plan = options_.lineup.plans[p];
      std::size_t pick = 0;
      std::uint32_t handover = 0;
      if (plan.controllers.size() > 1 || settings.handover[p] > 0) {
        // A stream a plan: changing one leaves the others' draws. A team draws as one.
        Rng rng(seed, kPoolStream + draws_as_[p]);
        pick = draw(settings.weights[p], rng.uniform());
        handover = rng.below(settings.handover[p] + 1);
        const int ordered = step.orders->controller(index, p);
        if (ordered >= 0) pick = static_cast<std::size_t>(ordered);  // the draws stay as they are
      }
      const Controller& drawn = plan.controllers[pick];
      c.policy[s] = static_cast<std::int16_t>(drawn.policy);
      c.bot[s] = static_cast<std::int16_t>(drawn.policy >= 0 ? plan.handover_bot : drawn.bot);
      if (drawn.policy >= 0) {
        c.policy_seats |= SeatMask{1} << seat;
        c.handover[s] = handover;
      }
    }
    c.phase = Phase::start;
    G::reset(rules_, slot.state, seed);
    if (recorder != nullptr && options_.record.wants(number)) {
      recorder->start(seed, G::hash(rules_, slot.state));
      c.recording = 1;
    }
  }

  static std::size_t draw(const std::vector<double>& weights, double u) {
    double total = 0.0;
    for (const double w : weights) total += w;
    double left = u * total;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] <= 0.0) continue;
      if (left < weights[i]) return i;
      left -= weights[i];
      last = i;
    }
    return last;  // rounding at the upper end
  }

  // Plays until a learned policy must decide (phase becomes surfaced, over is false) or the match
  // is over. With `decide_first` the actions of the surfaced time step are taken first.
  Status run(Slot<G>& slot, int index, const Step& step, bool decide_first, Counts& counts,
             ReplayRecorder* recorder) const {
    MatchControl& c = slot.control;
    if (c.recording == 0) recorder = nullptr;
    typename G::State& state = slot.state;
    std::array<float, kMaxSeats> rewards{};
    const auto seats = static_cast<std::size_t>(layout_.seats);
    Status status = G::status(rules_, state);
    if (decide_first) c.phase = Phase::start;
    while (!status.over) {
      if (decide_first || c.tick >= c.next_due) {
        if (!decide_first) {
          c.due_seats = find_due_seats(state, index, c);
          c.active_seats = find_active_seats(c);
          if (c.active_seats != 0) {
            c.phase = Phase::surfaced;
            return status;
          }
        }
        act(slot, index, step, counts, recorder);
        decide_first = false;
      }
      G::advance(rules_, state);
      ++c.tick;
      if (recorder != nullptr) {
        recorder->advanced(c.tick, [&] { return G::hash(rules_, state); });
      }
      ++counts.ticks;
      G::rewards(rules_, state, std::span<float>(rewards.data(), seats));
      for (std::size_t s = 0; s < seats; ++s) {
        c.earned[s] += rewards[s];
        c.returns[s] += static_cast<double>(rewards[s]);
      }
      status = G::status(rules_, state);
      if (cut_ != 0 && c.tick >= cut_ && !status.over) {
        return {.over = true, .truncated = true};
      }
      if ((c.tick & 0xff) == 0 && step.stopping->load(std::memory_order_relaxed)) break;
    }
    return status;
  }

  SeatMask find_due_seats(const typename G::State& state, int index, MatchControl& c) const {
    SeatMask phase = seat_bits_;
    if (every_tick_) {
      c.next_due = c.tick + 1;
    } else {
      phase = 0;
      std::uint32_t next = ~std::uint32_t{0};
      for (int seat = 0; seat < layout_.seats; ++seat) {
        const std::uint32_t skip = frame_skip_[static_cast<std::size_t>(layout_.plan(index, seat))];
        const std::uint32_t into = c.tick % skip;
        if (into == 0) phase |= SeatMask{1} << seat;
        next = std::min(next, c.tick + skip - into);
      }
      c.next_due = next;
    }
    return phase == 0 ? 0 : G::to_act(rules_, state) & phase;
  }

  static SeatMask find_active_seats(const MatchControl& c) {
    SeatMask active = 0;
    for (SeatMask left = c.due_seats & c.policy_seats; left != 0; left &= left - 1) {
      const auto seat = static_cast<std::size_t>(std::countr_zero(left));
      if (c.tick >= c.handover[seat]) active |= SeatMask{1} << seat;
    }
    return active;
  }

  // The due seats decide, in rising order.
  void act(Slot<G>& slot, int index, const Step& step, Counts& counts,
           ReplayRecorder* recorder) const {
    MatchControl& c = slot.control;
    const std::size_t heads = head_sizes_.size();
    int row = first_row(index);
    for (SeatMask left = c.due_seats; left != 0; left &= left - 1) {
      const int seat = std::countr_zero(left);
      if ((c.active_seats >> seat & 1) == 0) {
        const int bot = c.bot[static_cast<std::size_t>(seat)];
        G::bot(rules_, slot.state, seat, bot);
        if (recorder != nullptr) recorder->bot(c.tick, seat, bot);
        ++counts.bot_decisions;
        continue;
      }
      while (layout_.row_seat[static_cast<std::size_t>(row)] != seat) ++row;
      const std::span<std::int32_t> action(
          step.slab->actions + step.slab->at(step.before, row) * heads, heads);
      int bot = -1;  // that demonstrates
      if constexpr (Demonstrates<G>) {
        bot = demonstrator_[static_cast<std::size_t>(c.policy[static_cast<std::size_t>(seat)])];
        if (bot >= 0) G::bot_choice(rules_, slot.state, seat, bot, action);
      }
      check_range(action, seat);
      G::act(rules_, slot.state, seat, action);
      if (recorder == nullptr) continue;
      if (bot >= 0) {  // its draws change the state too
        recorder->bot(c.tick, seat, bot);
      } else {
        recorder->action(c.tick, seat, action);
      }
    }
    c.due_seats = c.active_seats = c.first_decision = 0;
  }

  void check_range(std::span<const std::int32_t> action, int seat) const {
    for (std::size_t h = 0; h < action.size(); ++h) {
      if (action[h] >= 0 && action[h] < head_sizes_[h]) continue;
      throw GameError("action " + std::to_string(action[h]) + " of seat " + std::to_string(seat) +
                      " at head " + std::to_string(h) + " is not in [0, " +
                      std::to_string(head_sizes_[h]) + ")");
    }
  }

  // The match surfaces: rows get their reward and the observation of the time step.
  void show(Slot<G>& slot, int index, const Step& step, Counts& counts) const {
    MatchControl& c = slot.control;
    pay(c, index, step);
    c.first_decision = c.active_seats & ~c.decided_seats;
    write_time_step(slot, index, *step.slab, step.now);
    c.decided_seats |= c.active_seats;
    const int asked = std::popcount(c.active_seats);
    c.decisions += static_cast<std::uint32_t>(asked);
    counts.decisions += static_cast<std::uint64_t>(asked);
  }

  void write_time_step(const Slot<G>& slot, int index, const SlabView& slab, int now) const {
    const MatchControl& c = slot.control;
    for (int row = first_row(index); row < first_row(index + 1); ++row) {
      const int seat = layout_.row_seat[static_cast<std::size_t>(row)];
      const std::size_t at = slab.at(now, row);
      const bool active = (c.active_seats >> seat & 1) != 0;
      slab.active[at] = active ? 1 : 0;
      slab.is_first[at] = (c.first_decision >> seat & 1) != 0 ? 1 : 0;
      slab.policy[at] = active ? c.policy[static_cast<std::size_t>(seat)] : std::int16_t{-1};
      if (!active) continue;
      observe(slot.state, seat, slab, at);
      G::legal(rules_, slot.state, seat, slab.mask + at * mask_bytes_);
    }
  }

  void observe(const typename G::State& state, int seat, const SlabView& slab,
               std::size_t at) const {
    std::array<std::byte*, kMaxTensors> out;
    for (int i = 0; i < tensors_; ++i) {
      const auto n = static_cast<std::size_t>(i);
      out[n] = wants(i) ? slab.obs[n] + at * tensor_bytes_[n] : nullptr;
    }
    G::observe(rules_, state, seat,
               std::span<std::byte* const>(out.data(), static_cast<std::size_t>(tensors_)));
  }

  // Whether tensor i is read, or the game cannot leave it out.
  [[nodiscard]] bool wants(int i) const { return (wanted_ >> i & 1) != 0; }

  // Adds what was earned since the last time step to the rows that had decided by then.
  void pay(MatchControl& c, int index, const Step& step) const {
    if (step.before >= 0) {
      const SlabView& slab = *step.slab;
      const double spirit = step.settings->spirit;
      if (team_rewards_.shares(spirit)) team_rewards_.share(c.earned, spirit);
      for (int row = first_row(index); row < first_row(index + 1); ++row) {
        const int seat = layout_.row_seat[static_cast<std::size_t>(row)];
        if ((c.decided_seats >> seat & 1) == 0) continue;
        slab.reward[slab.at(step.before, row)] += c.earned[static_cast<std::size_t>(seat)];
      }
    }
    c.earned.fill(0.0F);
  }

  void fail(Slot<G>& slot, int index, const Step& step, const char* what, RawResult& result,
            Counts& counts, ReplayRecorder* recorder) const noexcept {
    ++counts.errors;
    end(slot, index, step, {.over = true, .truncated = true}, *what != '\0' ? what : "error", false,
        result, counts, recorder);
  }

  // The match is over: its rows are paid, marked and keep their last observation.
  // `by_rules` is false after an error; only a match that the game itself ended has an outcome.
  void end(Slot<G>& slot, int index, const Step& step, Status status, const char* error,
           bool by_rules, RawResult& result, Counts& counts,
           ReplayRecorder* recorder) const noexcept {
    MatchControl& c = slot.control;
    pay(c, index, step);
    result.match = c.match;
    result.tag = slot.tag;
    result.slot = index;
    result.ticks = c.tick;
    result.decisions = c.decisions;
    result.returns = c.returns;
    result.truncated = status.truncated;
    result.error = error;
    result.outcome.fill(0.0F);
    result.replay.clear();
    for (int seat = 0; seat < layout_.seats; ++seat) {
      const auto s = static_cast<std::size_t>(seat);
      // Until the policy has decided, its handover bot is who played.
      const bool bot = c.policy[s] < 0 || (c.bot[s] >= 0 && (c.decided_seats >> seat & 1) == 0);
      result.player[s] = bot ? -1 - c.bot[s] : c.policy[s];
    }
    try {
      const std::span<float> outcome(result.outcome.data(),
                                     static_cast<std::size_t>(layout_.seats));
      const bool over = by_rules && G::status(rules_, slot.state).over;
      if (over) G::outcome(rules_, slot.state, outcome);
      if (recorder != nullptr && c.recording != 0 && result.error.empty()) {
        result.replay = encode_replay(recorder->finish(c.tick, G::hash(rules_, slot.state), over,
                                                       outcome, player_names(result.player)));
      }
    } catch (const std::exception& e) {
      if (result.error.empty()) result.error = e.what();
    }
    if (step.before >= 0) {
      const SeatMask cut = status.truncated ? seat_bits_ & ~out_seats(slot.state) : 0;
      mark_ended(slot, index, step, cut);
    }
    c.active_seats = c.due_seats = c.first_decision = 0;
    c.recording = 0;
    ++counts.matches;
  }

  std::vector<std::string> player_names(const std::array<std::int32_t, kMaxSeats>& players) const {
    std::vector<std::string> names;
    for (int seat = 0; seat < layout_.seats; ++seat) {
      const std::int32_t p = players[static_cast<std::size_t>(seat)];
      names.push_back(p >= 0 ? policy_names_[static_cast<std::size_t>(p)]
                             : bot_names_[static_cast<std::size_t>(-1 - p)]);
    }
    return names;
  }

  // Seats for which nothing follows although the match was cut off.
  SeatMask out_seats(const typename G::State& state) const noexcept {
    if constexpr (HasOut<G>) {
      try {
        return G::out(rules_, state);
      } catch (...) {  // a state that threw may throw again
      }
    }
    return 0;
  }

  // `cut`: the seats whose rows are truncated; the rest are terminated.
  void mark_ended(const Slot<G>& slot, int index, const Step& step, SeatMask cut) const noexcept {
    const SlabView& slab = *step.slab;
    FinalBuffer& last = *step.last;
    for (int row = first_row(index); row < first_row(index + 1); ++row) {
      const int seat = layout_.row_seat[static_cast<std::size_t>(row)];
      if ((slot.control.decided_seats >> seat & 1) == 0) continue;
      const std::size_t at = slab.at(step.before, row);
      ((cut >> seat & 1) != 0 ? slab.truncated : slab.terminated)[at] = 1;
      const auto mine = static_cast<std::size_t>(row - last.first_row);
      last.written[mine] = 1;
      std::array<std::byte*, kMaxTensors> out;
      for (int i = 0; i < tensors_; ++i) {
        const auto n = static_cast<std::size_t>(i);
        out[n] = wants(i) ? last.obs[n].data() + mine * tensor_bytes_[n] : nullptr;
      }
      try {
        G::observe(rules_, slot.state, seat,
                   std::span<std::byte* const>(out.data(), static_cast<std::size_t>(tensors_)));
      } catch (...) {  // a state that threw may throw again; its observation is zeroed
        for (int i = 0; i < tensors_; ++i) {
          const auto n = static_cast<std::size_t>(i);
          if (wants(i)) std::memset(out[n], 0, tensor_bytes_[n]);
        }
      }
      if (options_.autoreset == Autoreset::same_step) continue;
      for (int i = 0; i < tensors_; ++i) {  // the next time step shows no other match
        const auto n = static_cast<std::size_t>(i);
        if (!wants(i)) continue;
        std::memcpy(slab.obs[n] + slab.at(step.now, row) * tensor_bytes_[n], out[n],
                    tensor_bytes_[n]);
      }
    }
  }

  void clear_rows(int index, const Step& step) const noexcept {
    if (step.before < 0) return;
    const int begin = first_row(index);
    const auto n = static_cast<std::size_t>(first_row(index + 1) - begin);
    if (n == 0) return;
    const std::size_t at = step.slab->at(step.before, begin);
    std::fill_n(step.slab->reward + at, n, 0.0F);
    std::fill_n(step.slab->terminated + at, n, std::uint8_t{0});
    std::fill_n(step.slab->truncated + at, n, std::uint8_t{0});
  }

  void hide_rows(int index, const SlabView& slab, int now) const noexcept {
    const int begin = first_row(index);
    const auto n = static_cast<std::size_t>(first_row(index + 1) - begin);
    if (n == 0) return;
    const std::size_t at = slab.at(now, begin);
    std::fill_n(slab.active + at, n, std::uint8_t{0});
    std::fill_n(slab.is_first + at, n, std::uint8_t{0});
    std::fill_n(slab.policy + at, n, std::int16_t{-1});
  }

  const typename G::Rules& rules_;
  const PoolOptions& options_;
  // Ticks after which a match is cut off: the option, or what the game declares but does not keep.
  std::uint32_t cut_ = 0;
  const Layout& layout_;
  const MaskLayout masks_;
  const TeamRewards team_rewards_;
  int tensors_ = 0;
  std::uint32_t wanted_ = ~std::uint32_t{0};
  std::array<std::size_t, kMaxTensors> tensor_bytes_{};
  std::size_t mask_bytes_ = 0;
  std::vector<int> head_sizes_;
  std::vector<std::string> bot_names_;
  std::vector<std::string> policy_names_;  // as replays call them
  std::vector<std::uint32_t> frame_skip_;  // [plan]
  std::vector<std::size_t> draws_as_;      // [plan] first plan of its team
  std::vector<int> demonstrator_;          // [policy id] the bot that decides for it, or -1
  bool every_tick_ = true;
  SeatMask seat_bits_ = 0;
};

}  // namespace ludus
