#include "games/rts/engine/rule_overrides.hpp"

#include <algorithm>
#include <map>

#include "base/json.hpp"
#include "base/names.hpp"
#include "game/params.hpp"
#include "games/rts/engine/unit_fields.hpp"

namespace ludus::rts {

OverrideField flag_field(std::string key, bool& target) {
  return {std::move(key), "0 or 1",
          [&target](std::string_view text) {
            if (text != "0" && text != "1") return false;
            target = text == "1";
            return true;
          },
          [&target] { return target ? "1" : "0"; }};
}

OverrideField names_field(std::string key, std::uint16_t& target, std::vector<std::string> valid) {
  std::string expected = "a comma-separated list of";
  for (const std::string& v : valid) {
    if (!v.empty()) expected += " " + v;
  }
  return {std::move(key),
          expected,
          [&target, valid](std::string_view text) {
            std::uint16_t set = 0;
            while (!text.empty()) {
              const std::string_view name = text.substr(0, text.find(','));
              const auto it = std::ranges::find(valid, name);
              if (name.empty() || it == valid.end()) return false;
              set = static_cast<std::uint16_t>(set | 1U << (it - valid.begin()));
              text.remove_prefix(std::min(text.size(), name.size() + 1));
            }
            target = set;
            return true;
          },
          [&target, valid] {
            std::string text;
            for (std::size_t i = 0; i < valid.size(); ++i) {
              if ((target >> i & 1) == 0) continue;
              if (!text.empty()) text += ',';
              text += valid[i];
            }
            return text;
          },
          {}};
}

namespace {

// The fields of a type as overrides, whose schema has no meanings.
struct UnitOverrides {
  OverrideFields& fields;

  template <class T>
  void number(std::string key, T& target, double low, double high, const char* /*meaning*/) {
    fields.push_back(number_field(std::move(key), target, low, high));
  }
  void flag(std::string key, bool& target, const char* /*meaning*/) {
    fields.push_back(flag_field(std::move(key), target));
  }
  void names(std::string key, std::uint16_t& target, const std::vector<std::string>& valid,
             const char* /*meaning*/) {
    fields.push_back(names_field(std::move(key), target, valid));
  }
};

}  // namespace

void add_unit_fields(OverrideFields& fields, UnitType& type, const std::string& name,
                     std::span<const char* const> types, int commands) {
  UnitOverrides list{fields};
  list_unit_fields(list, name + ".", type, {types.begin(), types.end()}, commands);
}

void add_engine_fields(OverrideFields& fields, EngineRules& rules) {
  fields.push_back(number_field("bullet.speed", rules.bullet_speed, 0.01, 4));
  fields.push_back(number_field("bullet.hit_distance", rules.bullet_hit, 0.01, 2));
  fields.push_back(number_field("path.remember_ticks", rules.path_cache_ticks, 1, 100));
}

namespace {

std::string_view trim(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

constexpr std::size_t kMaxOverrides = 65536;
constexpr std::size_t kMaxMistakes = 20;

}  // namespace

std::string quoted_text(std::string_view text) {
  return "'" + std::string(text.substr(0, 80)) + (text.size() > 80 ? "..." : "") + "'";
}

void OverrideMistakes::add(const std::string& mistake) {
  if (++count_ > kMaxMistakes) return;
  if (!text_.empty()) text_ += '\n';
  text_ += mistake;
}

void OverrideMistakes::finish() const {
  if (count_ == 0) return;
  if (count_ <= kMaxMistakes) throw ParamError(text_);
  throw ParamError(text_ + "\nand " + std::to_string(count_ - kMaxMistakes) + " more");
}

std::vector<OverrideLine> override_lines(const std::string& where, std::string_view text) {
  if (text.size() > kMaxOverrides) {
    throw ParamError(where + ": " + std::to_string(text.size()) + " bytes: expected at most " +
                     std::to_string(kMaxOverrides));
  }
  std::vector<OverrideLine> lines;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)).empty()) {
      lines.push_back({number, {}, line});
    } else {
      lines.push_back({number, trim(line.substr(0, equals)), trim(line.substr(equals + 1))});
    }
  }
  return lines;
}

void apply_overrides(const OverrideFields& fields, const std::string& where,
                     const std::string& text) {
  OverrideMistakes mistakes;
  std::vector<std::string> valid;
  for (const OverrideLine& line : override_lines(where, text)) {
    const std::string place = where + " line " + std::to_string(line.number) + ": ";
    if (line.key.empty()) {
      mistakes.add(place + quoted_text(line.value) + ": expected key=value");
      continue;
    }
    const auto it = std::ranges::find(fields, line.key, &OverrideField::key);
    if (it == fields.end()) {
      if (valid.empty()) {
        for (const OverrideField& f : fields) valid.push_back(f.key);
      }
      mistakes.add(place + "unknown key " + quoted_text(line.key) + did_you_mean(line.key, valid));
      continue;
    }
    if (it->assign(line.value)) continue;
    std::string near = did_you_mean(line.value, it->choices);
    if (near.find("did you mean") == std::string::npos) near.clear();
    mistakes.add(place + it->key + " = " + quoted_text(line.value) + ": expected " + it->expected +
                 near);
  }
  mistakes.finish();
}

namespace {

struct SchemaTable {
  std::map<std::string, SchemaTable> tables;
  std::map<std::string, const OverrideField*> fields;
};

void write_schema(JsonWriter& j, const SchemaTable& table) {
  j.field("type", "object").field("additionalProperties", false).key("properties").open('{');
  for (const auto& [name, field] : table.fields) {
    j.key(name).open('{').field("description", field->expected).field("type", field->kind);
    if (field->low != field->high) {
      j.field("minimum", field->low).field("maximum", field->high);
    }
    if (!field->choices.empty()) {
      j.key("enum").open('[');
      for (const std::string& c : field->choices) j.value(c);
      j.close(']');
    }
    j.close('}');
  }
  for (const auto& [name, inner] : table.tables) {
    j.key(name).open('{');
    write_schema(j, inner);
    j.close('}');
  }
  j.close('}');
}

}  // namespace

std::string override_schema(const OverrideFields& fields, const std::string& title) {
  SchemaTable root;
  for (const OverrideField& f : fields) {
    SchemaTable* at = &root;
    std::string_view rest = f.key;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      at = &at->tables[std::string(rest.substr(0, dot))];
      rest.remove_prefix(dot + 1);
    }
    at->fields[std::string(rest)] = &f;
  }
  JsonWriter j;
  j.open('{').field("$schema", "https://json-schema.org/draft/2020-12/schema");
  j.field("title", title);
  write_schema(j, root);
  j.close('}');
  return std::move(j).text();
}

std::string print_overrides(const OverrideFields& fields) {
  std::string text;
  for (const OverrideField& f : fields) text += f.key + "=" + f.print() + "\n";
  return text;
}

}  // namespace ludus::rts
