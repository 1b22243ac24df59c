#include "posenc_harness.hpp"

posenc::Array sinusoidal(const posenc::Given& given) {
  const auto dim = given.integer("dim");
  if (dim < 2 || dim % 2) throw std::invalid_argument("dim must be even");
  std::vector<double> out;
  for (const double position : given.array("positions").values)
    for (long t = 0; t < dim; t += 2) {
      const double angle = position * std::pow(given.number("base"), -double(t) / dim);
      out.insert(out.end(), {std::sin(angle), std::cos(angle)});
    }
  return {given.text("dtype"), {given.array("positions").values.size(), size_t(dim)}, out};
}

posenc::Array rope(const posenc::Given& given) {
  posenc::Array x = given.array("x");
  const auto& positions = given.array("positions").values;
  const size_t dim = x.shape.back(), rows = x.shape.at(x.shape.size() - 2);
  if (dim % 2 || rows != positions.size()) throw std::invalid_argument("no pairs, or no positions");
  for (size_t k = 0; k < x.values.size(); k += 2) {
    const double omega = std::pow(given.number("base"), -double(k % dim) / dim);
    const double a = x.values[k], b = x.values[k + 1], angle = positions[k / dim % rows] * omega;
    x.values[k] = a * std::cos(angle) - b * std::sin(angle);
    x.values[k + 1] = a * std::sin(angle) + b * std::cos(angle);
  }
  return x;
}

int main() {
  posenc::serve("my C++ library", "1.0", R"([
    {"call": "sinusoidal", "combinations": ["paper"], "dtype": ["float64", "float32"]},
    {"call": "rope", "combinations": ["interleaved"], "dtype": ["float64", "float32", "bfloat16", "float16"]}
  ])", {{"sinusoidal", sinusoidal}, {"rope", rope}});
}
