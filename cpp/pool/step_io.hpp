// Inputs and outputs of one step of a pool: the rollout buffer's memory, the current settings, the
// buffer of final observations, and the result of a finished match.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pool/lineup.hpp"
#include "pool/orders.hpp"

namespace ludus {

// Borrowed pointers into a slab (src/ludus/flow/slab.py), valid until the next attach. Time step t
// of a row is at index t * rows + row of every array.
struct SlabView {
  int steps = 0;  // T: time steps 0..T, decisions 0..T-1
  int rows = 0;   // R of the whole pool
  std::array<std::byte*, kMaxTensors> obs{};
  std::uint8_t* mask = nullptr;
  std::uint8_t* active = nullptr;
  std::uint8_t* is_first = nullptr;
  std::int16_t* policy = nullptr;
  float* reward = nullptr;
  std::uint8_t* terminated = nullptr;
  std::uint8_t* truncated = nullptr;
  std::int32_t* actions = nullptr;

  [[nodiscard]] std::size_t at(int t, int row) const {
    return static_cast<std::size_t>(t) * static_cast<std::size_t>(rows) +
           static_cast<std::size_t>(row);
  }
};

// Settings that may change while a pool runs. Each group holds a copy that is renewed when it is
// sent, so what sees a change does not depend on threads. A match reads weights and handover when
// it starts, spirit holds for every step from the send on.
struct Settings {
  std::vector<std::vector<double>> weights;  // [plan][controller]
  std::vector<std::uint32_t> handover;       // [plan] ticks
  double spirit = 0.0;                       // 0..1, of team_rewards.hpp
};

// Last observations of a group's finished rows. Slots write at their own rows; close_group packs.
struct FinalBuffer {
  std::array<std::vector<std::byte>, kMaxTensors> obs;  // [rows of the group * bytes of the tensor]
  std::vector<std::uint8_t> written;                    // [rows of the group]
  std::vector<std::int32_t> rows;                       // packed: absolute rows, rising
  int count = 0;
  int first_row = 0;  // of the group
};

// One finished match.
struct RawResult {
  std::uint64_t match = 0;
  std::uint64_t tag = 0;  // of the order under which it started, 0 without one
  int slot = 0;
  std::uint32_t ticks = 0;
  std::uint32_t decisions = 0;  // of learned policies
  std::array<float, kMaxSeats> outcome{};
  std::array<double, kMaxSeats> returns{};
  std::array<std::int32_t, kMaxSeats> player{};  // policy id, or -1 - bot
  bool truncated = false;
  std::string error;
  std::string replay;  // bytes of a .ludus file, if the match was recorded
};

// A slot stops for a step after this many matches, so that a pool in which bots play each other
// returns to its caller, and results have fixed room.
inline constexpr int kMaxResultsPerStep = 8;

struct Counts {
  std::uint64_t ticks = 0, decisions = 0, bot_decisions = 0, matches = 0, errors = 0;
};

// One step of one group, as its slots see it.
struct Step {
  const SlabView* slab = nullptr;
  int now = 0;      // time step that is written
  int before = -1;  // decision that leads to it, or -1: the group starts without one
  const Settings* settings = nullptr;
  const Orders* orders = nullptr;
  FinalBuffer* last = nullptr;
  const std::atomic<bool>* stopping = nullptr;
};

}  // namespace ludus
