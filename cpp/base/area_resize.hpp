// Shrinks a grey picture by averaging areas: every output pixel is the mean of the input rectangle
// that it covers, parts of pixels counted by their share, rounded to the nearest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace ludus {

// Tables for one pair of sizes; `run` may be called from one thread at a time (it has a scratch
// row).
class AreaResize {
 public:
  AreaResize(int height, int width, int out_height, int out_width)
      : height_(height), width_(width), out_height_(out_height), out_width_(out_width) {
    if (out_height < 1 || out_width < 1 || out_height > height || out_width > width) {
      throw std::invalid_argument("area resize: the output must not be larger than the input");
    }
    rows_ = taps(height, out_height);
    columns_ = taps(width, out_width);
    scratch_.resize(static_cast<std::size_t>(width));
  }

  [[nodiscard]] bool fits(int height, int width, int out_height, int out_width) const {
    return height == height_ && width == width_ && out_height == out_height_ &&
           out_width == out_width_;
  }

  // The larger of `a` and `b` (flicker of old hardware goes so), shrunk into `out`. Row-major.
  void run(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out) {
    float* const row = scratch_.data();
    const auto width = static_cast<std::size_t>(width_);
    for (const Tap& tap : rows_) {
      std::fill_n(row, width, 0.0F);
      for (int k = 0; k < tap.count; ++k) {
        const float weight = tap.weight(k);
        const std::size_t at = static_cast<std::size_t>(tap.first + k) * width;
        for (std::size_t x = 0; x < width; ++x) {
          row[x] += weight * static_cast<float>(std::max(a[at + x], b[at + x]));
        }
      }
      for (const Tap& column : columns_) {
        float sum = 0.5F;
        for (int k = 0; k < column.count; ++k) sum += column.weight(k) * row[column.first + k];
        *out++ = static_cast<std::uint8_t>(sum);
      }
    }
  }

 private:
  // Inputs first..first+count-1; all have the middle weight but the first and the last.
  struct Tap {
    int first;
    int count;
    float head;
    float middle;
    float tail;

    [[nodiscard]] float weight(int k) const {
      return k == 0 ? head : k == count - 1 ? tail : middle;
    }
  };

  static std::vector<Tap> taps(int size, int out) {
    std::vector<Tap> all;
    for (int i = 0; i < out; ++i) {
      // In units of 1 / out of an input pixel, so that the shares are exact.
      const std::int64_t begin = static_cast<std::int64_t>(i) * size;
      const std::int64_t end = begin + size;
      const auto first = static_cast<int>(begin / out);
      const auto last = static_cast<int>((end - 1) / out);
      const auto share = [&](int pixel) {
        const std::int64_t low = std::max(begin, static_cast<std::int64_t>(pixel) * out);
        const std::int64_t high = std::min(end, static_cast<std::int64_t>(pixel + 1) * out);
        return static_cast<float>(high - low) / static_cast<float>(size);
      };
      all.push_back({first, last - first + 1, share(first),
                     static_cast<float>(out) / static_cast<float>(size), share(last)});
    }
    return all;
  }

  int height_;
  int width_;
  int out_height_;
  int out_width_;
  std::vector<Tap> rows_;
  std::vector<Tap> columns_;
  std::vector<float> scratch_;
};

}  // namespace ludus
