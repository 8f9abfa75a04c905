// The JSON schema of rulebooks in TOML, made from the fields of a sample rulebook: what holds for
// one unit type holds for every name.
#include <algorithm>
#include <map>

#include "base/json.hpp"
#include "games/rts/rulebook/fields.hpp"

namespace ludus::rts {

namespace {

constexpr const char* kName = "^[a-z][a-z0-9_]{0,23}$";

// A table of the schema: its own keys, and one entry that stands for every name.
struct Table {
  std::map<std::string, Table> tables;
  std::map<std::string, const Field*> fields;
  bool any_name = false;  // the only child stands for every name
};

void leaf(JsonWriter& j, const Field& f, bool listed) {
  j.open('{').field("description", f.meaning);
  switch (f.kind) {
    case FieldKind::integer:
      j.field("type", "integer").field("minimum", static_cast<std::int64_t>(f.low));
      j.field("maximum", static_cast<std::int64_t>(f.high));
      break;
    case FieldKind::real:
      j.field("type", "number").field("minimum", f.low).field("maximum", f.high);
      break;
    case FieldKind::flag:
      j.field("type", "boolean");
      break;
    case FieldKind::names:
      j.field("type", "array").key("items").open('{').field("type", "string");
      if (listed) {
        j.key("enum").open('[');
        for (const std::string& c : f.choices) j.value(c);
        j.close(']');
      } else {
        j.field("pattern", kName);
      }
      j.close('}');
      break;
    case FieldKind::name:
      j.field("type", "string");
      if (listed) {
        j.key("enum").open('[');
        for (const std::string& c : f.choices) j.value(c);
        j.close(']');
      }
      break;
    case FieldKind::text:
      if (f.key == "map.terrain") {
        j.field("type", "array").key("items").open('{').field("type", "string");
        j.field("pattern", "^[.x01ab]*$").close('}');
      } else {
        j.field("type", "string").field("maxLength", 64);
      }
      break;
  }
  j.close('}');
}

void write(JsonWriter& j, const Table& t, const std::vector<std::string>& types) {
  j.open('{').field("type", "object").field("additionalProperties", false);
  j.key(t.any_name ? "patternProperties" : "properties").open('{');
  for (const auto& [name, field] : t.fields) {
    // Choices that are unit types differ from rulebook to rulebook.
    const bool listed = field->choices != types;
    leaf(j.key(t.any_name ? kName : name), *field, listed);
  }
  for (const auto& [name, table] : t.tables) write(j.key(t.any_name ? kName : name), table, types);
  j.close('}').close('}');
}

}  // namespace

std::string book_schema() {
  // Two types, so that there is a base and a resource; one wave and one bot.
  Book book = read_book(
      "units.a.hp=1\nunits.b.hp=1\nroles.base=a\nroles.resource=b\nwaves.a.count=0\n"
      "bots.a.gatherers=0\n",
      "");
  const std::vector<Field> fields = book_fields(book);
  Table root;
  for (const Field& f : fields) {
    Table* at = &root;
    std::string_view rest = f.key;
    bool skip = false;
    while (true) {
      const std::size_t dot = rest.find('.');
      const std::string part(rest.substr(0, dot));
      if (part == "b") skip = true;  // the second type adds nothing
      if (part == "a") at->any_name = true;
      if (skip) break;
      if (dot == std::string_view::npos) {
        at->fields[part] = &f;
        break;
      }
      at = &at->tables[part];
      rest.remove_prefix(dot + 1);
    }
  }
  JsonWriter j;
  JsonWriter inner;
  write(inner, root, book.names);
  std::string body = std::move(inner).text();
  // The first keys of the root, then what the table wrote.
  const std::string known =
      "\"extends\":{\"description\":\"a built-in rulebook that this one starts from\","
      "\"type\":\"string\"},";
  const std::string mark = "\"properties\":{";
  body.insert(body.find(mark) + mark.size(), known);
  return "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
         "\"title\":\"Rulebook of the game rts\"," +
         body.substr(1);
}

}  // namespace ludus::rts
