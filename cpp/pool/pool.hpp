// The pool of one game. See any_pool.hpp for how it is used and match.hpp for what it plays.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "pool/any_pool.hpp"
#include "pool/match.hpp"

namespace ludus {

template <Game G>
class Pool final : public AnyPool {
 public:
  // Throws ParamError for bad parameters, PoolError for bad options.
  Pool(const Params& params, PoolOptions options)
      : Pool(G::make_rules(params), std::move(options)) {}

  Pool(typename G::Rules rules, PoolOptions options)
      : AnyPool(G::spec(rules), std::move(options)),
        rules_(std::move(rules)),
        player_(rules_, spec(), this->options(), layout()),
        slots_(std::make_unique<Slot<G>[]>(static_cast<std::size_t>(layout().slots))) {
    for (int s = 0; s < layout().slots; ++s) at(s).control.next = static_cast<std::uint64_t>(s);
    start_workers();
  }
  ~Pool() override { close(); }

  std::uint64_t slot_hash(int slot) override {
    idle_slot_or_throw(slot, "slot_hash");
    return G::hash(rules_, at(slot).state);
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
      result_counts[n] = player_.play(at(s), s, step, &results[n * kMaxResultsPerStep], counts);
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
    return c.phase == Phase::idle || (c.phase == Phase::start && c.next >= options().schedule);
  }
  void ask_reset(int slot) override { at(slot).control.reset_asked = true; }

 private:
  Slot<G>& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }

  const typename G::Rules rules_;
  const MatchPlayer<G> player_;
  std::unique_ptr<Slot<G>[]> slots_;
};

}  // namespace ludus
