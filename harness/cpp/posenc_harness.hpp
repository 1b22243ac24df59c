// Speaks posenc protocol 1 for a program in C++17: copy this file beside yours.
//
// It needs the standard library and a POSIX system. A whole program:
//
//     #include "posenc_harness.hpp"
//
//     posenc::Array rope(const posenc::Given& given) {
//       const posenc::Array& x = given.array("x");
//       const double base = given.number("base");
//       ...
//       return {x.dtype, x.shape, turned};
//     }
//
//     int main() {
//       posenc::serve("mylib", "1.0", R"([{"call": "rope", "combinations": ["half"]}])",
//                     {{"rope", rope}});
//     }
//
// Claims are JSON, as the protocol has them. Functions are named as the calls of the specification;
// an exception is the answer to bad input. What is printed goes to standard error.

#ifndef POSENC_HARNESS_HPP
#define POSENC_HARNESS_HPP

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace posenc {

// Thrown, it says that the program does not do what it was asked: this counts as not claimed.
struct NotImplementedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Shape = std::vector<std::size_t>;

// Values in row-major order. A double holds every dtype exactly, whole numbers up to 2^53.
struct Array {
  std::string dtype;
  Shape shape;
  std::vector<double> values;

  // Values of any type of numbers; they are rounded to the dtype when they are sent.
  template <typename Numbers>
  Array(std::string dtype_, Shape shape_, const Numbers& numbers)
      : dtype(std::move(dtype_)),
        shape(std::move(shape_)),
        values(std::begin(numbers), std::end(numbers)) {}

  // The values as floats, or whatever the library wants.
  template <typename T>
  std::vector<T> as() const {
    return std::vector<T>(values.begin(), values.end());
  }
};

namespace detail {

struct Json {
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::map<std::string, Json> fields;

  const Json& at(const std::string& name) const {
    const auto found = fields.find(name);
    if (found == fields.end()) throw std::out_of_range("nothing is given as " + name);
    return found->second;
  }
};

// Reads what the kit writes, which is right: nothing here looks for errors that it does not make.
class Reader {
 public:
  explicit Reader(const std::string& line) : line_(line) {}

  Json read() {
    Json json;
    const char first = peek();
    if (first == '{') {
      for (++at_; !over('}');) {
        std::string name = string();
        if (peek() == ':') ++at_;
        json.fields[std::move(name)] = read();
      }
    } else if (first == '[') {
      for (++at_; !over(']');) json.items.push_back(read());
    } else if (first == '"') {
      json.text = string();
    } else {
      const std::size_t end = std::min(line_.find_first_of(",]} \t\r\n", at_), line_.size());
      std::istringstream digits(line_.substr(at_, end - at_));
      digits.imbue(std::locale::classic());  // where a library has set one with decimal commas
      if (!(digits >> json.number)) throw std::runtime_error("no number: " + digits.str());
      at_ = end;
    }
    return json;
  }

 private:
  char peek() {
    at_ = line_.find_first_not_of(" \t\r\n", at_);
    if (at_ == std::string::npos) throw std::runtime_error("the request ends too early");
    return line_[at_];
  }

  // Whether the list ends here; if not, goes to its next element.
  bool over(char close) {
    if (peek() == ',') ++at_;
    const bool ended = peek() == close;
    if (ended) ++at_;
    return ended;
  }

  std::string string() {
    std::string out;
    peek();
    while (line_.at(++at_) != '"') {
      if (line_[at_] != '\\') {
        const std::size_t end = std::min(line_.find_first_of("\"\\", at_), line_.size());
        out.append(line_, at_, end - at_);
        at_ = end - 1;
        continue;
      }
      const char what = line_.at(++at_);
      const std::size_t found = std::string("bfnrt").find(what);
      if (what == 'u') {
        unicode(out, hexadecimal());
      } else {
        out += found == std::string::npos ? what : "\b\f\n\r\t"[found];
      }
    }
    ++at_;
    return out;
  }

  unsigned hexadecimal() {
    at_ += 4;
    return std::stoul(line_.substr(at_ - 3, 4), nullptr, 16);
  }

  void unicode(std::string& out, unsigned code) {
    if (code >= 0xD800 && code < 0xDC00) {
      at_ += 2;
      code = 0x10000 + ((code - 0xD800) << 10) + (hexadecimal() - 0xDC00);
    }
    const int more = (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF);
    const unsigned char lead[] = {0x00, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(lead[more] | code >> (6 * more));
    for (int n = more; n-- > 0;) out += static_cast<char>(0x80 | (code >> (6 * n) & 0x3F));
  }

  const std::string& line_;
  std::size_t at_ = 0;
};

// Text as JSON has it. Bytes beyond ASCII, of whatever encoding, become question marks.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char each : text) {
    const unsigned char code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') out += '\\';
    out += code < 0x20 ? ' ' : code > 0x7E ? '?' : each;
  }
  return out + '"';
}

// How many bytes an element has, and, of a float, how many bits its exponent and fraction have.
struct Format {
  int bytes;
  bool is_signed;
  int exponent, fraction;
};

inline const Format& format(const std::string& dtype) {
  static const std::map<std::string, Format> formats = {
      {"float64", {8, true, 11, 52}}, {"float32", {4, true, 8, 23}},
      {"bfloat16", {2, true, 8, 7}},  {"float16", {2, true, 5, 10}},
      {"int64", {8, true, 0, 0}},     {"int32", {4, true, 0, 0}},
      {"int16", {2, true, 0, 0}},     {"int8", {1, true, 0, 0}},
      {"uint64", {8, false, 0, 0}},   {"uint32", {4, false, 0, 0}},
      {"uint16", {2, false, 0, 0}},   {"uint8", {1, false, 0, 0}},
      {"bool", {1, false, 0, 0}}};
  const auto found = formats.find(dtype);
  if (found == formats.end()) throw std::invalid_argument(dtype + " is no dtype");
  return found->second;
}

inline double value_of(std::uint64_t bits, const Format& is) {
  if (!is.exponent) {
    const int spare = 64 - 8 * is.bytes;
    const auto whole = static_cast<std::int64_t>(bits << spare) >> spare;
    const double value = is.is_signed ? static_cast<double>(whole) : static_cast<double>(bits);
    if (std::fabs(value) > 9007199254740992.0)
      throw std::range_error("a whole number is larger than 2^53");
    return value;
  }
  const std::uint64_t one = 1;
  const int largest = (1 << is.exponent) - 1;
  const int exponent = static_cast<int>(bits >> is.fraction) & largest;
  const auto fraction = static_cast<double>(bits & ((one << is.fraction) - 1));
  const double hidden = exponent ? std::ldexp(1.0, is.fraction) : 0.0;
  const int power = std::max(exponent, 1) - (largest >> 1) - is.fraction;
  double value = std::ldexp(hidden + fraction, power);
  if (exponent == largest) value = fraction != 0 ? NAN : INFINITY;
  return bits >> (8 * is.bytes - 1) ? -value : value;
}

// Rounds to the nearest value of the dtype, and of two to the even one.
inline std::uint64_t bits_of(double value, const Format& is) {
  if (!is.exponent) {
    if (!(std::fabs(value) <= 9007199254740992.0) || value != std::trunc(value))
      throw std::range_error("a whole number was expected, of at most 2^53");
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  const std::uint64_t one = 1;
  const int bias = (1 << (is.exponent - 1)) - 1;
  const std::uint64_t infinity = ((one << is.exponent) - 1) << is.fraction;
  const std::uint64_t sign = std::signbit(value) ? one << (8 * is.bytes - 1) : 0;
  if (std::isnan(value)) return sign | infinity | one << (is.fraction - 1);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  const double units = std::nearbyint(std::ldexp(std::fabs(value), is.fraction - exponent));
  const auto whole = static_cast<std::uint64_t>(units);  // with the bit that is not stored
  const auto shifted = static_cast<std::uint64_t>(exponent + bias - 1) << is.fraction;
  return sign | std::min(shifted + whole, infinity);
}

const char* const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline Array received(const Json& json) {
  const std::string dtype = json.at("dtype").text;
  const Format& is = format(dtype);
  std::array<std::uint64_t, 256> meaning{};
  for (int n = 0; n < 64; ++n) meaning[static_cast<unsigned char>(letters[n])] = n;
  std::vector<double> values;
  std::uint64_t element = 0, waiting = 0;
  int bits = 0, bytes = 0;
  for (const char letter : json.at("data").text) {
    if (letter == '=') break;
    waiting = waiting << 6 | meaning[static_cast<unsigned char>(letter)];
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    element |= (waiting >> bits & 0xFF) << (8 * bytes);
    if (++bytes < is.bytes) continue;
    values.push_back(value_of(element, is));
    element = 0;
    bytes = 0;
  }
  Shape shape;
  for (const Json& each : json.at("shape").items)
    shape.push_back(static_cast<std::size_t>(each.number));
  return {dtype, shape, values};
}

inline std::string sent(const Array& array) {
  const Format& is = format(array.dtype);
  std::size_t count = 1;
  std::string shape;
  for (const std::size_t each : array.shape) {
    count *= each;
    shape += (shape.empty() ? "" : ", ") + std::to_string(each);
  }
  if (count != array.values.size())
    throw std::length_error(std::to_string(array.values.size()) + " values are not of the shape [" +
                            shape + "]");
  std::string data;
  std::uint64_t waiting = 0;
  int bits = 0;
  for (const double value : array.values) {
    const std::uint64_t element = bits_of(value, is);
    for (int n = 0; n < is.bytes; ++n) {
      waiting = waiting << 8 | (element >> (8 * n) & 0xFF);
      for (bits += 8; bits >= 6; bits -= 6) data += letters[waiting >> (bits - 6) & 0x3F];
    }
  }
  if (bits) data += letters[waiting << (6 - bits) & 0x3F];
  data.append((4 - data.size() % 4) % 4, '=');
  return "{\"dtype\": " + quoted(array.dtype) + ", \"shape\": [" + shape + "], \"data\": \"" + data +
         "\"}";
}

inline std::string failure(const std::string& type, const std::string& message) {
  return "\"error\": {\"type\": " + quoted(type) + ", \"message\": " + quoted(message) + "}";
}

inline std::string type_of(const std::exception& error) {
  if (dynamic_cast<const NotImplementedError*>(&error)) return "NotImplementedError";
  int status = 0;
  char* const name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
  const std::string type = status ? typeid(error).name() : name;
  std::free(name);
  return type;
}

}  // namespace detail

// The arguments of a call by name. What is not given is an error.
class Given {
 public:
  explicit Given(const detail::Json& arguments) {
    for (const auto& [name, json] : arguments.fields) {
      if (json.fields.empty()) {
        plain_[name] = json;
      } else {
        arrays_.emplace(name, detail::received(json));
      }
    }
  }

  bool has(const std::string& name) const { return arrays_.count(name) || plain_.count(name); }
  const Array& array(const std::string& name) const { return of(arrays_, name); }
  double number(const std::string& name) const { return of(plain_, name).number; }
  long long integer(const std::string& name) const { return std::llround(number(name)); }
  const std::string& text(const std::string& name) const { return of(plain_, name).text; }

 private:
  template <typename T>
  static const T& of(const std::map<std::string, T>& things, const std::string& name) {
    const auto found = things.find(name);
    if (found == things.end()) throw std::out_of_range("nothing is given as " + name);
    return found->second;
  }

  std::map<std::string, Array> arrays_;
  std::map<std::string, detail::Json> plain_;
};

using Function = std::function<Array(const Given&)>;

// Answers requests until there are no more.
inline void serve(const std::string& name, const std::string& version, std::string claims,
                  const std::map<std::string, Function>& functions) {
  std::FILE* const out = fdopen(dup(1), "wb");
  dup2(2, 1);  // what is printed must not come among the answers
  std::replace(claims.begin(), claims.end(), '\n', ' ');
  const auto answer = [&](const detail::Json& request) -> std::string {
    const std::string what = request.at("request").text;
    if (what == "goodbye") return "\"result\": null";
    if (what == "describe") {
      if (request.at("protocol").number != 1)
        throw std::runtime_error("this program speaks posenc protocol 1");
      return "\"result\": {\"protocol\": 1, \"name\": " + detail::quoted(name) + ", \"version\": " +
             detail::quoted(version) + ", \"language\": \"C++\", \"claims\": " + claims + "}";
    }
    const auto found = functions.find(request.at("call").text);
    if (found == functions.end()) throw NotImplementedError("no function has this name");
    const Given given(request.at("arguments"));
    return "\"result\": " + detail::sent(found->second(given));
  };
  for (std::string line; std::getline(std::cin, line);) {
    const detail::Json request = detail::Reader(line).read();
    std::string text;
    try {
      text = answer(request);
    } catch (const std::exception& error) {
      text = detail::failure(detail::type_of(error), error.what());
    } catch (...) {
      text = detail::failure("exception", "of a type that is not derived from std::exception");
    }
    std::fflush(stdout);
    std::fprintf(out, "{\"id\": %.0f, %s}\n", request.at("id").number, text.c_str());
    std::fflush(out);
    if (request.at("request").text == "goodbye") break;
  }
  std::fclose(out);
}

}  // namespace posenc

#endif
