// Sinusoids, rotation and attention on plain vectors.

#ifndef ENCODINGS_HPP
#define ENCODINGS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

// Radians per position of each pair of channels: base^(-2t / dim).
inline Row frequencies(std::size_t dim, double base) {
  if (dim == 0 || dim % 2) throw std::invalid_argument("channels come in pairs: dim must be even");
  Row omega(dim / 2);
  for (std::size_t t = 0; t < omega.size(); ++t) omega[t] = std::pow(base, -2.0 * t / dim);
  return omega;
}

// A row for each position: sine and cosine of each angle, side by side.
inline Matrix sinusoidal(const Row& positions, std::size_t dim, double base = 10000) {
  const Row omega = frequencies(dim, base);
  Matrix table;
  for (const double position : positions) {
    Row row;
    for (const double w : omega) {
      row.push_back(std::sin(position * w));
      row.push_back(std::cos(position * w));
    }
    table.push_back(row);
  }
  return table;
}

inline Matrix add(Matrix x, const Matrix& table) {
  if (x.size() != table.size()) throw std::invalid_argument("a row of the table for each row of x");
  for (std::size_t n = 0; n < x.size(); ++n)
    for (std::size_t i = 0; i < x[n].size(); ++i) x[n][i] += table[n].at(i);
  return x;
}

// Turns each pair of neighbours by its angle: RoPE, for queries and keys.
inline Matrix rotate(Matrix x, const Row& positions, double base = 10000) {
  if (x.size() != positions.size()) throw std::invalid_argument("a position for each row of x");
  for (std::size_t n = 0; n < x.size(); ++n) {
    const Row omega = frequencies(x[n].size(), base);
    for (std::size_t t = 0; t < omega.size(); ++t) {
      const double cos = std::cos(positions[n] * omega[t]), sin = std::sin(positions[n] * omega[t]);
      const double a = x[n][2 * t], b = x[n][2 * t + 1];
      x[n][2 * t] = a * cos - b * sin;
      x[n][2 * t + 1] = b * cos + a * sin;
    }
  }
  return x;
}

// How much each query looks at each key. The rows add up to 1.
inline Matrix attention_weights(const Matrix& q, const Matrix& k) {
  Matrix weights;
  for (const Row& query : q) {
    Row row;
    for (const Row& key : k) {
      if (key.size() != query.size()) throw std::invalid_argument("queries and keys differ in width");
      double product = 0;
      for (std::size_t i = 0; i < query.size(); ++i) product += query[i] * key[i];
      row.push_back(product / std::sqrt(double(query.size())));
    }
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& each : row) sum += each = std::exp(each - largest);
    for (double& each : row) each /= sum;
    weights.push_back(row);
  }
  return weights;
}

#endif
