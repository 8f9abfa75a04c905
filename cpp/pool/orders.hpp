// Standing orders: which controller of each plan plays the matches that a slot starts, and under
// which tag. A slot without an order draws its controllers by the weights of the mixtures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "pool/layout.hpp"
#include "pool/lineup.hpp"

namespace ludus {

class Orders {
 public:
  Orders(int slots, std::size_t plans)
      : plans_(plans),
        controllers_(static_cast<std::size_t>(slots) * plans, -1),
        tags_(static_cast<std::size_t>(slots)) {}

  [[nodiscard]] int slots() const { return static_cast<int>(tags_.size()); }
  [[nodiscard]] std::size_t plans() const { return plans_; }
  [[nodiscard]] std::int32_t controller(int slot, std::size_t plan) const {  // -1: drawn
    return controllers_[static_cast<std::size_t>(slot) * plans_ + plan];
  }
  [[nodiscard]] std::uint64_t tag(int slot) const { return tags_[static_cast<std::size_t>(slot)]; }

  void set(int slot, std::size_t plan, std::int32_t controller) {
    controllers_[static_cast<std::size_t>(slot) * plans_ + plan] = controller;
  }
  void set_tag(int slot, std::uint64_t tag) { tags_[static_cast<std::size_t>(slot)] = tag; }

  void copy_slots(const Orders& from, Range slots) {
    const auto copy = [](const auto& in, auto& out, std::size_t begin, std::size_t end) {
      std::copy(in.data() + begin, in.data() + end, out.data() + begin);
    };
    const auto begin = static_cast<std::size_t>(slots.begin);
    const auto end = static_cast<std::size_t>(slots.end);
    copy(from.controllers_, controllers_, begin * plans_, end * plans_);
    copy(from.tags_, tags_, begin, end);
  }

  // Empty if a pool may play by them. `first`: first_plans(), the plans of a team play as one.
  [[nodiscard]] std::string wrong(const Lineup& lineup,
                                  const std::vector<std::size_t>& first) const {
    const auto number = [](auto v) { return std::to_string(v); };
    const auto at = [&](int slot, std::size_t plan) {
      return "slot " + number(slot) + ", plan " + number(plan) + ": controller " +
             number(controller(slot, plan)) + ", ";
    };
    for (int slot = 0; slot < slots(); ++slot) {
      bool ordered = false;
      for (std::size_t p = 0; p < plans_; ++p) {
        const std::int32_t mine = controller(slot, p);
        const auto count = static_cast<std::int32_t>(lineup.plans[p].controllers.size());
        if (mine < -1 || mine >= count) {
          return at(slot, p) + "expected -1.." + number(count - 1);
        }
        if (const std::int32_t team = controller(slot, first[p]); mine != team) {
          return at(slot, p) + "its team has " + number(team);
        }
        ordered = ordered || mine >= 0;
      }
      if (!ordered && tag(slot) != 0) {
        return "slot " + number(slot) + " has tag " + number(tag(slot)) + " and no order";
      }
    }
    return {};
  }

  template <class Writer>
  void save(Writer& out) const {
    for (const std::int32_t c : controllers_) out.value(c);
    for (const std::uint64_t t : tags_) out.value(t);
  }
  template <class Reader>
  void load(Reader& in) {
    for (std::int32_t& c : controllers_) c = in.template value<std::int32_t>();
    for (std::uint64_t& t : tags_) t = in.template value<std::uint64_t>();
  }

 private:
  std::size_t plans_;
  std::vector<std::int32_t> controllers_;  // [slots * plans]
  std::vector<std::uint64_t> tags_;        // [slots]
};

}  // namespace ludus
