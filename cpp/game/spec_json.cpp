#include "game/spec_json.hpp"

#include <span>

#include "base/json.hpp"

namespace ludus {
namespace {

template <class T>
void list(JsonWriter& j, const char* name, const std::vector<T>& values) {
  j.key(name).open('[');
  for (const T& v : values) j.value(v);
  j.close(']');
}

void tensor(JsonWriter& j, const TensorSpec& t) {
  j.open('{').field("name", t.name).field("dtype", dtype_name(t.dtype));
  list(j, "shape", t.shape);
  j.field("low", t.low).field("high", t.high).field("codec", t.codec).field("scale", t.scale);
  j.field("meaning", t.meaning);
  list(j, "labels", t.labels);
  j.close('}');
}

void head(JsonWriter& j, const HeadSpec& h) {
  j.open('{').field("name", h.name).field("size", h.size);
  list(j, "labels", h.labels);
  list(j, "depends_on", h.depends_on);
  if (h.rows > 0) j.field("points_at", h.points_at).field("rows", h.rows);
  if (h.by_columns) j.field("by_columns", h.by_columns);
  j.field("meaning", h.meaning).close('}');
}

void param(JsonWriter& j, const ParamSpec& p) {
  j.open('{').field("name", p.name).field("kind", kind_name(p.kind));
  j.field("default_value", p.default_value).field("low", p.low).field("high", p.high);
  list(j, "choices", p.choices);
  j.field("meaning", p.meaning).close('}');
}

}  // namespace

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::bits:
      return "bits";
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::u16:
      return "u16";
    case DType::i16:
      return "i16";
    case DType::i32:
      return "i32";
    case DType::f32:
      return "f32";
  }
  return "";
}

const char* kind_name(ParamKind kind) {
  switch (kind) {
    case ParamKind::integer:
      return "integer";
    case ParamKind::real:
      return "real";
    case ParamKind::text:
      return "text";
  }
  return "";
}

const char* symmetry_name(Symmetry symmetry) {
  switch (symmetry) {
    case Symmetry::none:
      return "none";
    case Symmetry::mirror:
      return "mirror";
    case Symmetry::dihedral:
      return "dihedral";
  }
  return "";
}

std::string spec_json(const GameSpec& s) {
  JsonWriter j;
  j.open('{').field("name", s.name).field("title", s.title).field("version", s.version);
  j.field("seats", s.seats).field("turn_based", s.turn_based);
  j.field("perfect_information", s.perfect_information);
  j.field("deterministic", s.deterministic);
  j.field("default_frame_skip", s.default_frame_skip).field("max_ticks", s.max_ticks);
  j.field("symmetry", symmetry_name(s.symmetry));
  if (s.counted_cells > 0) j.field("counted_cells", s.counted_cells);
  if (!s.teams.empty()) {
    j.key("teams").open('[');
    for (const int team : s.teams) j.value(team);
    j.close(']');
  }
  j.key("observation").open('[');
  for (const TensorSpec& t : s.observation) tensor(j, t);
  j.close(']').key("heads").open('[');
  for (const HeadSpec& h : s.heads) head(j, h);
  j.close(']').key("params").open('[');
  for (const ParamSpec& p : s.params) param(j, p);
  j.close(']').key("bots").open('[');
  for (const BotSpec& b : s.bots) {
    j.open('{').field("name", b.name).field("meaning", b.meaning);
    if (b.demonstrates) j.field("demonstrates", true);
    j.close('}');
  }
  j.close(']').field("meaning", s.meaning).close('}');
  return std::move(j).text();
}

}  // namespace ludus
