// The pool of one game. See any_pool.hpp for how it is used and match.hpp for what it plays.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pool/any_pool.hpp"
#include "pool/match.hpp"

namespace ludus {

template <Game G>
class Pool final : public AnyPool {
 public:
  // Throws ParamError for bad parameters, PoolError for bad options.
  Pool(const Params& params, PoolOptions options)
      : Pool(params, G::make_rules(params), std::move(options)) {}
  ~Pool() override { close(); }

  std::uint64_t slot_hash(int slot) override {
    idle_slot_or_throw(slot, "slot_hash");
    return G::hash(rules_, at(slot).state);
  }
  std::string slot_state(int slot) override {
    idle_slot_or_throw(slot, "slot_state");
    return {reinterpret_cast<const char*>(&at(slot).state), sizeof(typename G::State)};
  }
  std::string slot_view(int slot) override {
    idle_slot_or_throw(slot, "slot_view");
    return G::view(rules_, at(slot).state);
  }

 protected:
  void play_slots(Range slots, const Step& step, std::span<int> result_counts,
                  std::span<RawResult> results, Counts& counts) noexcept override {
    for (int s = slots.begin; s < slots.end; ++s) {
      if (step.stopping->load(std::memory_order_relaxed)) return;
      const auto n = static_cast<std::size_t>(s);
      ReplayRecorder* recorder = recorders_.empty() ? nullptr : recorders_[n].get();
      result_counts[n] =
          player_.play(at(s), s, step, &results[n * kMaxResultsPerStep], counts, recorder);
    }
  }
  void rewrite_slot(int slot, const SlabView& slab, int now) override {
    player_.rewrite(at(slot), slot, slab, now);
  }
  void random_slot(int slot, const SlabView& slab, int now, std::uint64_t seed) override {
    player_.choose_at_random(at(slot), slot, slab, now, seed);
  }
  bool slot_idle(int slot) const override {
    const MatchControl& c = slots_[static_cast<std::size_t>(slot)].control;
    return c.phase == Phase::idle || (c.phase == Phase::start && c.next >= options().num_matches);
  }
  std::uint64_t slot_in_play(int slot, std::span<std::int32_t> controllers) const override {
    const Slot<G>& s = slots_[static_cast<std::size_t>(slot)];
    return player_.controllers_in_play(s, slot, controllers) ? s.tag : 0;
  }
  void ask_reset(int slot) override { at(slot).control.reset_asked = 1; }

  std::string describe() const override {
    std::string params;
    for (const auto& [name, value] : params_.values()) params += name + ":" + value + ";";
    return describe_pool(spec(), options(), params, sizeof(typename G::State),
                         sizeof(MatchControl));
  }

  void save_slots(SnapshotWriter& out) override {
    for (int s = 0; s < layout().slots; ++s) {
      const Slot<G>& slot = at(s);
      out.value(slot.control);
      out.value(slot.state);
      out.value(slot.tag);
      if (slot.control.recording == 0) continue;
      ReplayRecorder copy = *recorders_[static_cast<std::size_t>(s)];
      const auto seats = static_cast<std::size_t>(layout().seats);
      out.text(encode_replay(copy.finish(slot.control.tick, 0, false, std::vector<float>(seats),
                                         std::vector<std::string>(seats))));
    }
  }

  void load_slots(SnapshotReader& in) override {
    auto [slots, recordings] = read_slots(in);
    slots_ = std::move(slots);
    for (auto& [s, replay] : recordings) recorders_[s]->resume(std::move(replay));
  }

  std::vector<StoredSlot> read_parts(SnapshotReader& in) const override {
    const auto [slots, recordings] = read_slots(in);
    if (!recordings.empty()) in.refuse("matches that are recorded do not move");
    std::vector<StoredSlot> parts(static_cast<std::size_t>(layout().slots));
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const MatchControl& c = slots[s].control;
      parts[s].next = c.next;
      if (c.phase != Phase::surfaced) continue;
      parts[s].match.append(reinterpret_cast<const char*>(&c), sizeof c);
      parts[s].match.append(reinterpret_cast<const char*>(&slots[s].state), sizeof slots[s].state);
      for (int seat = 0; seat < layout().seats; ++seat) {
        if ((c.policy_seats >> seat & 1) == 0) continue;
        parts[s].players.emplace_back(seat, c.policy[static_cast<std::size_t>(seat)]);
      }
    }
    return parts;
  }

  void write_parts(std::span<const StoredSlot> parts, SnapshotWriter& out) override {
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const StoredSlot& part = parts[s];
      // All zero, its padding too: equal slots are equal bytes.
      auto control = std::bit_cast<MatchControl>(std::array<std::byte, sizeof(MatchControl)>{});
      typename G::State state = slots_[s].state;
      if (!part.match.empty()) {
        if (part.match.size() != sizeof control + sizeof state) {
          throw PoolError("snapshot_join: slot " + std::to_string(s) +
                          " holds another game's match");
        }
        std::memcpy(&control, part.match.data(), sizeof control);
        std::memcpy(static_cast<void*>(&state), part.match.data() + sizeof control, sizeof state);
        control.match = part.next - parts.size();  // by which the slot finds its next one
      }
      control.next = part.next;
      out.value(control);
      out.value(state);
      out.value(std::uint64_t{0});
    }
  }

 private:
  Pool(const Params& params, typename G::Rules rules, PoolOptions options)
      : AnyPool(G::spec(rules), std::move(options)),
        params_(params),
        rules_(std::move(rules)),
        player_(rules_, spec(), this->options(), layout()),
        slots_(std::make_unique<Slot<G>[]>(static_cast<std::size_t>(layout().slots))) {
    for (int s = 0; s < layout().slots; ++s) at(s).control.next = static_cast<std::uint64_t>(s);
    make_recorders();
    start_workers();
  }

  // Only slots that will play a match to be recorded have a recorder.
  void make_recorders() {
    const RecordChoice& record = options().record;
    if (!record.any()) return;
    const auto slots = static_cast<std::size_t>(layout().slots);
    recorders_.resize(slots);
    const auto make = [&](std::size_t s) {
      if (recorders_[s] != nullptr) return;
      recorders_[s] = std::make_unique<ReplayRecorder>();
      recorders_[s]->prepare(spec(), params_, record.hash_every, 256, 4096);
    };
    for (const std::uint64_t m : record.matches) make(m % slots);
    for (std::size_t s = 0; record.all && s < slots; ++s) make(s);
  }

  using Recordings = std::vector<std::pair<std::size_t, Replay>>;

  std::pair<std::unique_ptr<Slot<G>[]>, Recordings> read_slots(SnapshotReader& in) const {
    const auto n = static_cast<std::size_t>(layout().slots);
    auto slots = std::make_unique<Slot<G>[]>(n);
    Recordings recordings;
    for (std::size_t s = 0; s < n; ++s) {
      slots[s].control = in.value<MatchControl>();
      slots[s].state = in.value<typename G::State>();
      if (in.has_orders()) slots[s].tag = in.value<std::uint64_t>();
      const MatchControl& c = slots[s].control;
      player_.check_control(c, static_cast<int>(s), in);
      if (c.recording == 0) continue;
      if (recorders_.empty() || recorders_[s] == nullptr) in.refuse("a recording out of place");
      recordings.emplace_back(s, read_recording(in, c));
    }
    in.end();
    return {std::move(slots), std::move(recordings)};
  }

  Replay read_recording(SnapshotReader& in, const MatchControl& c) const {
    const std::string_view bytes = in.text();
    try {
      Replay r = decode_replay({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
      if (r.game != spec().name || r.version != spec().version || r.params != params_.values() ||
          r.seed.seed != options().seed || r.seed.match != c.match || r.ticks != c.tick ||
          r.heads != static_cast<int>(spec().heads.size()) ||
          r.hash_every != options().record.hash_every) {
        in.refuse("a recording of another match");
      }
      return r;
    } catch (const ReplayError& e) {
      in.refuse(e.what());
    }
  }

  Slot<G>& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }

  const Params params_;
  const typename G::Rules rules_;
  const MatchPlayer<G> player_;
  std::unique_ptr<Slot<G>[]> slots_;
  std::vector<std::unique_ptr<ReplayRecorder>> recorders_;  // [slots], or empty: nothing recorded
};

}  // namespace ludus
