// Bytes of a pool's snapshot. Checked: magic, format, checksum, every length, the pool's text
// (game, parameters, sizes), every control. NOT checked: the states of games, which are copied as
// they are. The caller guarantees that this user's pool wrote them: a checksum finds damage, not
// forgery.
//   "LUDUSPOL" u32 format, u32 0, text of the pool it fits, settings, orders, slots, Hash64 of all
//   before. Format 1 had no orders and no tags, format 2 no spirit: it is written where spirit is
//   0.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/hash.hpp"
#include "pool/lineup.hpp"

namespace ludus {

inline constexpr std::string_view kSnapshotMagic = "LUDUSPOL";
inline constexpr std::uint32_t kSnapshotFormat = 3;
inline constexpr std::uint32_t kFirstWithOrders = 2;
inline constexpr std::uint32_t kFirstWithSpirit = 3;

class SnapshotWriter {
 public:
  explicit SnapshotWriter(std::uint32_t format = kSnapshotFormat) {
    out_ = kSnapshotMagic;
    value(format);
    value(std::uint32_t{0});
  }
  // Memory as it is: snapshots are for the machine type that wrote them (the header names it).
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(const T& v) { out_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void text(std::string_view s) {
    value(static_cast<std::uint64_t>(s.size()));
    out_ += s;
  }
  [[nodiscard]] std::string finish() {
    Hash64 h;
    h.add_bytes(out_.data(), out_.size());
    value(h.value());
    return std::move(out_);
  }

 private:
  std::string out_;
};

class SnapshotReader {
 public:
  explicit SnapshotReader(std::string_view data) : data_(data) {
    if (!data.starts_with(kSnapshotMagic)) refuse("not a pool's snapshot: expected LUDUSPOL");
    if (data.size() < kSnapshotMagic.size() + 16) refuse("cut off in its header");
    data_.remove_suffix(8);
    Hash64 h;
    h.add_bytes(data_.data(), data_.size());
    std::uint64_t sum = 0;
    std::memcpy(&sum, data.data() + data_.size(), 8);
    if (h.value() != sum) refuse("the checksum is wrong: it is damaged or cut off");
    at_ = kSnapshotMagic.size();
    format_ = value<std::uint32_t>();
    if (format_ < 1 || format_ > kSnapshotFormat) {
      refuse("format " + std::to_string(format_) + ", this build reads 1.." +
             std::to_string(kSnapshotFormat));
    }
    if (value<std::uint32_t>() != 0) refuse("unknown flags");
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T value() {
    T v;
    read(&v, sizeof v);
    return v;
  }
  [[nodiscard]] std::string_view text() {
    const auto n = value<std::uint64_t>();
    if (n > data_.size() - at_) refuse("cut off");
    const std::string_view s = data_.substr(at_, n);
    at_ += n;
    return s;
  }
  [[nodiscard]] bool has_orders() const { return format_ >= kFirstWithOrders; }
  [[nodiscard]] bool has_spirit() const { return format_ >= kFirstWithSpirit; }
  void end() const {
    if (at_ != data_.size()) refuse(std::to_string(data_.size() - at_) + " bytes too many");
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw PoolError("restore: byte " + std::to_string(at_) + ": " + what);
  }

 private:
  void read(void* to, std::size_t n) {
    if (n > data_.size() - at_) refuse("cut off");
    std::memcpy(to, data_.data() + at_, n);
    at_ += n;
  }

  std::string_view data_;
  std::size_t at_ = 0;
  std::uint32_t format_ = 0;
};

// Everything that must be the same for a snapshot to fit a pool, a line each. Threads and groups
// are not in it: a match's course does not depend on them.
[[nodiscard]] inline std::string describe_pool(const GameSpec& spec, const PoolOptions& o,
                                               const std::string& params, std::size_t state_bytes,
                                               std::size_t control_bytes) {
  std::string s;
  const auto line = [&](const std::string& name, const auto& v) {
    s += name + "=";
    if constexpr (std::is_convertible_v<decltype(v), std::string>) {
      s += v;
    } else {
      s += std::to_string(v);
    }
    s += "\n";
  };
  line("game", spec.name);
  line("version", spec.version);
  line("params", params);
  line("byte_order", std::endian::native == std::endian::little ? 0 : 1);
  line("state_bytes", state_bytes);
  line("control_bytes", control_bytes);
  line("matches", o.slots);  // names as in stored snapshots
  line("seed", o.seed);
  line("schedule", o.num_matches);
  line("autoreset", static_cast<int>(o.autoreset));
  line("truncate_ticks", o.truncate_ticks);
  line("record_all", o.record.all ? 1 : 0);
  for (const std::uint64_t m : o.record.matches) line("record", m);
  line("hash_every", o.record.hash_every);
  if (o.zero_sum) line("zero_sum", 1);
  line("rotate", o.lineup.rotate ? 1 : 0);
  for (std::size_t p = 0; p < o.lineup.plans.size(); ++p) {
    const SeatPlan& plan = o.lineup.plans[p];
    const std::string name = "plan" + std::to_string(p);
    line(name + ".frame_skip", plan.frame_skip);
    line(name + ".handover_bot", plan.handover_bot);
    for (const Controller& c : plan.controllers) {  // weights and handover may change: settings
      if (c.bot >= 0) line(name + ".bot", c.bot);
      if (c.policy >= 0) line(name + ".policy", c.policy);
    }
  }
  return s;
}

// The first line in which two descriptions differ, for the error message.
[[nodiscard]] inline std::string first_difference(std::string_view theirs, std::string_view ours) {
  const auto cut = [](std::string_view& s) {
    const std::size_t n = std::min(s.find('\n'), s.size());
    const std::string_view first = s.substr(0, n);
    s.remove_prefix(std::min(n + 1, s.size()));
    return first;
  };
  while (!theirs.empty() || !ours.empty()) {
    const std::string_view a = cut(theirs);
    const std::string_view b = cut(ours);
    if (a != b) {
      return "the snapshot is of a pool with " + std::string(a.substr(0, 200)) + ", this one has " +
             std::string(b.substr(0, 200));
    }
  }
  return {};
}

}  // namespace ludus
