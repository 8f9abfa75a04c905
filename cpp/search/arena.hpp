// Memory of one tree: a bump allocator in units of 16 bytes with 32-bit indices. Nothing is freed;
// a tree that moves on is copied into another arena (tree.hpp: `advance_to`), and the old one
// emptied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace ludus {

class Arena {
 public:
  static constexpr std::size_t kUnit = 16;

  Arena() = default;
  explicit Arena(std::size_t bytes)
      : memory_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))),
        capacity_(static_cast<std::uint32_t>(bytes / kUnit)) {}

  // Index of `bytes` bytes, or 0 when they do not fit: nothing ever lies at index 0.
  [[nodiscard]] std::uint32_t take(std::size_t bytes) {
    const auto units = static_cast<std::uint32_t>((bytes + kUnit - 1) / kUnit);
    if (units > capacity_ - used_) return 0;
    return std::exchange(used_, used_ + units);
  }
  // Gives the end of the newest piece back: it had `bytes`, and keeps `kept`.
  void trim(std::uint32_t index, std::size_t bytes, std::size_t kept) {
    const auto units = [](std::size_t n) {
      return static_cast<std::uint32_t>((n + kUnit - 1) / kUnit);
    };
    if (index + units(bytes) == used_) used_ = index + units(kept);
  }
  template <class T>
  [[nodiscard]] T* at(std::uint32_t index) {
    return reinterpret_cast<T*>(memory_.get() + std::size_t{index} * kUnit);
  }
  template <class T>
  [[nodiscard]] const T* at(std::uint32_t index) const {
    return reinterpret_cast<const T*>(memory_.get() + std::size_t{index} * kUnit);
  }
  void clear() { used_ = kFirst; }
  [[nodiscard]] std::size_t used_bytes() const { return std::size_t{used_} * kUnit; }
  [[nodiscard]] std::size_t capacity_bytes() const { return std::size_t{capacity_} * kUnit; }

 private:
  static constexpr std::uint32_t kFirst =
      4;  // one cache line in: columns of four stay inside lines
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::uint32_t capacity_ = 0;
  std::uint32_t used_ = kFirst;
};

}  // namespace ludus
