#include "encodings.hpp"
#include "posenc_harness.hpp"

using posenc::Array;
using posenc::Given;

// The rows of one sequence, of how many sequences there are.
Matrix rows(const Array& x, std::size_t sequence) {
  const std::size_t length = x.shape.at(x.shape.size() - 2), width = x.shape.back();
  Matrix found;
  auto start = x.values.begin() + sequence * length * width;
  for (std::size_t n = 0; n < length; ++n, start += width) found.emplace_back(start, start + width);
  return found;
}

std::size_t sequences(const Array& x) {
  std::size_t count = 1;
  for (std::size_t axis = 0; axis + 2 < x.shape.size(); ++axis) count *= x.shape[axis];
  return count;
}

void append(Row& values, const Matrix& matrix) {
  for (const Row& row : matrix) values.insert(values.end(), row.begin(), row.end());
}

template <typename Function>
Array each_sequence(const Array& x, posenc::Shape shape, Function function) {
  Row values;
  for (std::size_t s = 0; s < sequences(x); ++s) append(values, function(s));
  return {x.dtype, shape, values};
}

int main() {
  posenc::serve("encodings.hpp", "1.0", R"([
    {"call": "sinusoidal", "combinations": ["paper"], "dtype": ["float64", "float32"]},
    {"call": "embedding_sum", "combinations": ["unscaled"], "dtype": ["float64", "float32"]},
    {"call": "rope", "combinations": ["interleaved"], "dtype": ["float64", "float32"]},
    {"call": "attention_weights", "combinations": ["full"], "dtype": ["float64", "float32"]}
  ])", {
    {"sinusoidal", [](const Given& given) {
      const Row positions = given.array("positions").values;
      const std::size_t dim = given.integer("dim");
      Row values;
      append(values, sinusoidal(positions, dim, given.number("base")));
      return Array(given.text("dtype"), {positions.size(), dim}, values);
    }},
    {"embedding_sum", [](const Given& given) {
      const Array& x = given.array("x");
      const Matrix table = sinusoidal(given.array("positions").values, x.shape.back(), given.number("base"));
      return each_sequence(x, x.shape, [&](std::size_t s) { return add(rows(x, s), table); });
    }},
    {"rope", [](const Given& given) {
      const Array& x = given.array("x");
      const Row positions = given.array("positions").values;
      const double base = given.number("base");
      return each_sequence(x, x.shape, [&](std::size_t s) { return rotate(rows(x, s), positions, base); });
    }},
    {"attention_weights", [](const Given& given) {
      const Array &q = given.array("q"), &k = given.array("k");
      posenc::Shape shape = q.shape;
      shape.back() = k.shape.at(k.shape.size() - 2);
      return each_sequence(q, shape, [&](std::size_t s) { return attention_weights(rows(q, s), rows(k, s)); });
    }},
  });
}
