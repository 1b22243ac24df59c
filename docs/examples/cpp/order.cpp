#include <cstdio>
#include <numeric>

#include "encodings.hpp"

void print(const char* title, const Matrix& matrix, const char* form) {
  std::puts(title);
  for (const Row& row : matrix) {
    for (const double value : row) std::printf(form, value);
    std::puts("");
  }
}

// Four tokens of eight channels; the second text has them in the opposite order.
Matrix tokens(bool reversed) {
  Matrix x;
  for (int n = 0; n < 4; ++n) {
    Row row;
    for (int i = 0; i < 8; ++i) row.push_back(((reversed ? 3 - n : n) * 5 + i * 3) % 7 / 4.0 - 0.75);
    x.push_back(row);
  }
  return x;
}

int main() {
  Row positions(10);
  std::iota(positions.begin(), positions.end(), 0);
  print("sinusoidal, 8 channels", sinusoidal(positions, 8), "%10.6f");
  positions.resize(4);
  const Matrix table = sinusoidal(positions, 8);
  for (const bool reversed : {false, true}) {
    const Matrix x = tokens(reversed), added = add(x, table), turned = rotate(x, positions);
    std::printf("\n%s\n", reversed ? "the same tokens in the opposite order" : "four tokens");
    print("weights without positions", attention_weights(x, x), "%8.4f");
    print("weights, positions added", attention_weights(added, added), "%8.4f");
    print("weights, queries and keys turned", attention_weights(turned, turned), "%8.4f");
  }
}
