// Declarations of a game. The spec is the only source of names: Python types,
// documentation tables, masks, slabs and viewers are generated from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ludus {

// Storage type of one element of a packed tensor. `bits` packs 8 elements a byte, least
// significant bit first, and rounds a row up to a whole byte.
enum class DType : std::uint8_t { bits, u8, i8, u16, i16, i32, f32 };

struct TensorSpec {
  std::string name;
  DType dtype = DType::u8;
  std::vector<int> shape;  // of one row (one seat, one time step)
  double low = 0.0;        // range of an element, inclusive
  double high = 255.0;
  // How the packed row becomes what a network reads. "identity": value * scale. Others are named
  // by the game family and implemented once in ludus.codecs.registry ("rts_cells", ...).
  std::string codec = "identity";
  double scale = 1.0;
  std::string meaning;
  std::vector<std::string> labels;  // names of the planes or columns, or empty

  [[nodiscard]] std::size_t elements() const {
    std::size_t n = 1;
    for (int d : shape) n *= static_cast<std::size_t>(d);
    return n;
  }
  [[nodiscard]] std::size_t bytes() const {  // of one packed row
    switch (dtype) {
      case DType::bits:
        return (elements() + 7) / 8;
      case DType::u8:
      case DType::i8:
        return elements();
      case DType::u16:
      case DType::i16:
        return 2 * elements();
      case DType::i32:
      case DType::f32:
        return 4 * elements();
    }
    return 0;
  }
};

// One factor of a decision: an integer in [0, size).
//
// A head whose mask depends on earlier heads has one table for each of them, [choices of that head,
// own choices], and a choice is legal when the chosen row of every table allows it. If none is
// legal the head does not matter: the game ignores its choice, which counts as 0.
struct HeadSpec {
  std::string name;
  int size = 0;
  std::vector<std::string> labels;  // one a choice, or empty
  std::vector<int> depends_on;      // earlier heads, rising
  std::string meaning;
  bool lenient = false;  // G::act takes a masked-out choice too, as one that does nothing
  // An observation tensor: choice i < rows means its row i if it has entity rows, its cell i if it
  // has planes [C, H, W] (then rows = H * W), counted row by row or, `by_columns`, column by
  // column.
  std::string points_at{};
  int rows = 0;  // choices above are no entities or cells
  bool by_columns = false;
};

enum class ParamKind : std::uint8_t { integer, real, text };

// A parameter of the rules, given as text by presets and the command line.
struct ParamSpec {
  std::string name;
  ParamKind kind = ParamKind::integer;
  std::string default_value;
  double low = 0.0, high = 0.0;      // for numbers, inclusive
  std::vector<std::string> choices;  // for text; empty = free text
  std::string meaning;
};

struct BotSpec {
  std::string name;  // lower case, as typed on the command line: "simple"
  std::string meaning;
  bool demonstrates = false;  // its decisions are choices of the heads: G::bot_choice gives them
};

// Under which transformations of the board the rules do not change. Each maps tensors of three axes
// [C, H, W] by their last two, and head 0 likewise: its first H * W choices are the cells, row by
// row, and what follows them (a pass) stays; with exactly W choices they are the columns.
// MiniRTS and the like declare none: their tensors are not boards of the head's cells.
enum class Symmetry : std::uint8_t {
  none,
  mirror,    // left to right
  dihedral,  // the eight of the square, H = W
};

struct GameSpec {
  std::string name;   // "minirts"
  std::string title;  // "MiniRTS"
  int version = 1;    // goes up when behaviour changes, never with a refactor
  int seats = 2;
  std::vector<int> teams;   // of each seat, any numbers; empty = every seat for itself
  bool turn_based = false;  // at most one seat acts at a time
  bool perfect_information = false;
  bool deterministic = false;  // the same moves lead to the same position (bots apart)
  int default_frame_skip = 1;  // ticks between two decisions of a seat
  Symmetry symmetry = Symmetry::none;
  int max_ticks = 0;  // longest possible match under these parameters; 0 = unbounded
  // Cells of the board whose owners are counted when a match ends (game/state.hpp, `final_score`),
  // row by row; 0 = the game counts none.
  int counted_cells = 0;
  std::vector<TensorSpec> observation;
  std::vector<HeadSpec> heads;
  std::vector<ParamSpec> params;
  std::vector<BotSpec> bots;
  std::string meaning;

  // One byte a choice; a table a dependency where a head has any.
  [[nodiscard]] std::size_t mask_bytes(const HeadSpec& h) const {
    const auto own = static_cast<std::size_t>(h.size);
    if (h.depends_on.empty()) return own;
    std::size_t n = 0;
    for (const int d : h.depends_on) {
      n += static_cast<std::size_t>(heads[static_cast<std::size_t>(d)].size) * own;
    }
    return n;
  }
  [[nodiscard]] std::size_t mask_bytes() const {  // heads concatenated
    std::size_t n = 0;
    for (const HeadSpec& h : heads) n += mask_bytes(h);
    return n;
  }

  // Rotations of the seats under which teams stay teams: by k, who sat at seat p sits at (p + k) %
  // seats. 0 is always one of them; without teams all are.
  [[nodiscard]] std::vector<int> turns() const {
    std::vector<int> out;
    const auto n = teams.empty() ? 0U : static_cast<std::size_t>(seats);
    for (std::size_t k = 0; k < static_cast<std::size_t>(seats); ++k) {
      bool keeps = true;
      for (std::size_t p = 0; p < n; ++p) {
        for (std::size_t q = 0; q < p; ++q) {
          keeps = keeps && (teams[p] == teams[q]) == (teams[(p + k) % n] == teams[(q + k) % n]);
        }
      }
      if (keeps) out.push_back(static_cast<int>(k));
    }
    return out;
  }
};

}  // namespace ludus
