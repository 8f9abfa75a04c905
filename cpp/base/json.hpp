// Writing JSON: the few pieces that view(), spec_json() and gamectl need. There is no reader here;
// everything that arrives as JSON is read in Python.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace ludus {

// Appends to a string. Commas are put in by itself; keys and values must alternate inside objects.
//   JsonWriter j;  j.open('{').key("tick").value(3).close('}');  j.text()
class JsonWriter {
 public:
  JsonWriter& open(char bracket) {
    comma();
    out_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    fresh_ = false;
    return *this;
  }
  JsonWriter& key(std::string_view name) {
    comma();
    quote(name);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    comma();
    quote(text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool b) {
    comma();
    out_ += b ? "true" : "false";
    return *this;
  }
  template <std::integral I>
  JsonWriter& value(I v) {
    comma();
    number(v);
    return *this;
  }
  // Shortest text that reads back to the same number; what JSON cannot say becomes null.
  template <std::floating_point F>
  JsonWriter& value(F v) {
    comma();
    if (std::isfinite(v)) {
      number(v);
    } else {
      out_ += "null";
    }
    return *this;
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json) {
    comma();
    out_ += json;
    return *this;
  }
  template <class T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  [[nodiscard]] const std::string& text() const& { return out_; }
  [[nodiscard]] std::string text() && { return std::move(out_); }

 private:
  template <class T>
  void number(T v) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, v);
    out_.append(buffer, static_cast<std::size_t>(end.ptr - buffer));
  }
  void comma() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  void quote(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    out_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_ += "\\u00";
        out_ += kHex[(c >> 4) & 15];
        out_ += kHex[c & 15];
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  std::string out_;
  bool fresh_ = true;
};

}  // namespace ludus
