#include <algorithm>
#include <cmath>

#include "games/matrix/matrix.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

Matrix::State played(const Matrix::Rules& rules, int row, int column, std::uint64_t match = 0) {
  Matrix::State s{};
  Matrix::reset(rules, s, {.seed = 3, .match = match});
  const std::int32_t i = row, j = column;
  Matrix::act(rules, s, 0, {&i, 1});
  Matrix::act(rules, s, 1, {&j, 1});
  Matrix::advance(rules, s);
  return s;
}

TEST_CASE("matrix: named tables are antisymmetric and as large as they say") {
  const std::array<std::pair<Params, int>, 6> tables = {
      {{Params{}, 3},
       {Params{{"table", "weighted"}}, 3},
       {Params{{"table", "with_copy"}}, 4},
       {Params{{"table", "disc"}}, 30},
       {Params{{"table", "disc"}, {"actions", "7"}}, 7},
       {Params{{"table", "blotto"}}, 66}}};
  for (const auto& [params, size] : tables) {
    const Matrix::Rules r = Matrix::make_rules(params);
    CHECK(r.rows == size);
    CHECK(r.columns == size);
    CHECK(r.symmetric);
    float largest = 0.0F;
    for (const float p : r.payoff) largest = std::max(largest, std::abs(p));
    CHECK(largest == 1.0F);
  }
}

TEST_CASE("matrix: in a disc every point is beaten by another one, in a circle") {
  const Matrix::Rules r = Matrix::make_rules(Params{{"table", "disc"}});
  for (int i = 0; i < r.rows; ++i) {
    CHECK(r.at(i, (i + 1) % r.rows) < 0.0F);
    CHECK(r.at(i, (i + r.rows - 1) % r.rows) > 0.0F);
  }
}

TEST_CASE("matrix: blotto counts fields") {
  const Matrix::Rules r = Matrix::make_rules(Params{{"table", "blotto"}, {"soldiers", "3"}});
  const auto find = [&](const char* label) {
    return static_cast<int>(std::find(r.labels.begin(), r.labels.end(), label) - r.labels.begin());
  };
  REQUIRE(r.rows == 10);
  CHECK(r.at(find("1-1-1"), find("3-0-0")) == 1.0F);
  CHECK(r.at(find("2-1-0"), find("1-1-1")) == 0.0F);
  CHECK(r.at(find("0-0-3"), find("0-1-2")) == 0.0F);
  CHECK(r.at(find("0-1-2"), find("1-2-0")) == -1.0F + 0.0F);
}

TEST_CASE("matrix: rewards are payoffs, and the mean of outcomes is the payoff") {
  const Matrix::Rules r = Matrix::make_rules(Params{{"table", "0.3,-1;0.25,0"}});
  CHECK_FALSE(r.symmetric);
  double sum = 0.0;
  for (std::uint64_t m = 0; m < 20000; ++m) {
    const Matrix::State s = played(r, 0, 0, m);
    std::array<float, 2> reward{}, outcome{};
    Matrix::rewards(r, s, reward);
    Matrix::outcome(r, s, outcome);
    CHECK(reward[0] == 0.3F);
    CHECK(reward[1] == -0.3F);
    CHECK(outcome[0] == -outcome[1]);
    CHECK(outcome[0] >= 0.0F);
    sum += static_cast<double>(outcome[0]);
  }
  CHECK(sum / 20000 == doctest::Approx(0.3).epsilon(0.05));
  CHECK(played(r, 0, 1).result == -1);
  CHECK(played(r, 1, 1).result == 0);
}

TEST_CASE("matrix: the mean of outcomes is the payoff, whichever side it favours") {
  const Matrix::Rules r = Matrix::make_rules(Params{{"table", "weighted"}});
  for (int i = 0; i < r.rows; ++i) {
    for (int j = 0; j < r.columns; ++j) {
      int sum = 0;
      for (std::uint64_t m = 0; m < 4000; ++m) sum += played(r, i, j, m).result;
      INFO(i << ", " << j);
      CHECK(std::abs(sum / 4000.0 - static_cast<double>(r.at(i, j))) < 0.05);  // six deviations
    }
  }
}

TEST_CASE("matrix: states that differ in choices, result or tick have different hashes") {
  const Matrix::Rules r = Matrix::make_rules(Params{{"table", "weighted"}});
  const Matrix::State s = played(r, 0, 1);
  const std::uint64_t hash = Matrix::hash(r, s);
  CHECK(Matrix::hash(r, Matrix::State(s)) == hash);
  for (const int result : {-1, 0, 1}) {
    Matrix::State other = s;
    other.result = static_cast<std::int16_t>(result);
    CHECK((Matrix::hash(r, other) == hash) == (result == s.result));
  }
  for (const std::size_t seat : {0U, 1U}) {
    Matrix::State other = s;
    other.chosen[seat] = 2;
    CHECK(Matrix::hash(r, other) != hash);
  }
  Matrix::State other = s;
  other.tick = 0;
  CHECK(Matrix::hash(r, other) != hash);
}

TEST_CASE("matrix: seats observe which seat they are only where the table is not antisymmetric") {
  for (const auto& [text, bits] : {std::pair{"1,0,0;0,1,0", 2}, std::pair{"0,1;-1,0", 0}}) {
    const Matrix::Rules r = Matrix::make_rules(Params{{"table", text}});
    Matrix::State s{};
    Matrix::reset(r, s, {});
    std::byte seen{};
    std::byte* const tensors[] = {&seen};
    Matrix::observe(r, s, 1, tensors);
    CHECK(static_cast<int>(seen) == bits);
    std::array<std::uint8_t, 3> mask{};
    Matrix::legal(r, s, 0, mask.data());
    CHECK(mask[1] == 1);
    CHECK(mask[2] == 0);  // seat 0 has two rows, or the table has two of both
  }
}

TEST_CASE("matrix: tables that make no sense are refused") {
  for (const char* text : {"", "rock", "0", "0,1", "0,1;2,0", "0,1;1", "0,1;1,0;", "nan,0;0,0",
                           "0 1;1 0", "0,1;1,0x"}) {
    INFO(text);
    CHECK_THROWS_AS(Matrix::make_rules(Params{{"table", text}}), ParamError);
  }
  std::string wide = "0";
  for (int i = 0; i < Matrix::kMaxActions; ++i) wide += ",0";
  CHECK_THROWS_AS(Matrix::make_rules(Params{{"table", wide + ";" + wide}}), ParamError);
  const Matrix::Rules r = Matrix::make_rules(Params{});
  CHECK_THROWS_AS(played(r, 3, 0), GameError);
}

}  // namespace
}  // namespace ludus
