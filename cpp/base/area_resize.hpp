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
    const std::vector<Tap> columns = taps(width, out_width);
    for (const Tap& column : columns) reach_ = std::max(reach_, column.count);
    weights_.resize(static_cast<std::size_t>(out_width) * static_cast<std::size_t>(reach_));
    float* weight = weights_.data();
    for (const Tap& column : columns) {
      firsts_.push_back(column.first);
      for (int k = 0; k < column.count; ++k) weight[k] = column.weight(k);
      weight += reach_;
    }
    scratch_.resize(static_cast<std::size_t>(width + reach_));  // the last columns reach further
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
      for (int k = 0; k < tap.count; ++k) {
        const float weight = tap.weight(k);
        const std::size_t at = static_cast<std::size_t>(tap.first + k) * width;
        const auto value = [&](std::size_t x) {
          return weight * static_cast<float>(std::max(a[at + x], b[at + x]));
        };
        if (k == 0) {
          for (std::size_t x = 0; x < width; ++x) row[x] = value(x);
        } else {
          for (std::size_t x = 0; x < width; ++x) row[x] += value(x);
        }
      }
      switch (reach_) {
        case 1:
          columns<1>(out, 1);
          break;
        case 2:
          columns<2>(out, 2);
          break;
        case 3:
          columns<3>(out, 3);
          break;
        case 4:
          columns<4>(out, 4);
          break;
        default:
          columns<0>(out, reach_);
      }
      out += out_width_;
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

  // A row of outputs from the scratch row. Every output has `reach` inputs, some of weight 0: a
  // loop of a length that the compiler knows (Reach > 0) takes half the time.
  template <int Reach>
  void columns(std::uint8_t* out, int reach) const {
    if constexpr (Reach > 0) reach = Reach;
    const float* weight = weights_.data();
    for (const int first : firsts_) {
      const float* const in = scratch_.data() + first;
      float sum = 0.5F;
      for (int k = 0; k < reach; ++k) sum += weight[k] * in[k];
      *out++ = static_cast<std::uint8_t>(static_cast<int>(sum));
      weight += reach;
    }
  }

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
  int reach_ = 0;               // most inputs of an output column
  std::vector<int> firsts_;     // first input of each output column
  std::vector<float> weights_;  // of its inputs: `reach_` for each
  std::vector<float> scratch_;
};

}  // namespace ludus
