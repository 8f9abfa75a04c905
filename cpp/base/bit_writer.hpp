// Bits one after another into bytes, least significant first: how DType::bits is packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ludus {

class BitWriter {
 public:
  // Writes ceil(bits / 8) bytes from `out` on, all of them once finish() has been called.
  explicit BitWriter(std::byte* out) : out_(out) {}

  // The lowest `n` bits of `bits`, 0 <= n <= 32; the bits above them must be 0.
  void put(std::uint64_t bits, int n) {
    held_ |= bits << count_;
    count_ += n;
    if (count_ >= 32) {
      for (int i = 0; i < 4; ++i) out_[i] = static_cast<std::byte>(held_ >> (8 * i) & 0xff);
      out_ += 4;
      held_ >>= 32;
      count_ -= 32;
    }
  }

  // `n` times the same bit, n >= 0.
  void fill(bool bit, int n) {
    for (; n > 0; n -= 32) {
      const int part = n < 32 ? n : 32;
      put(bit ? (std::uint64_t{1} << part) - 1 : 0, part);
    }
  }

  // Rounds up to a whole byte with zeros.
  void finish() {
    for (; count_ > 0; count_ -= 8) {
      *out_++ = static_cast<std::byte>(held_ & 0xff);
      held_ >>= 8;
    }
    count_ = 0;
  }

 private:
  std::byte* out_;
  std::uint64_t held_ = 0;
  int count_ = 0;  // < 32 between two calls
};

}  // namespace ludus
