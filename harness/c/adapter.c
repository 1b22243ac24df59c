#include "posenc_harness.h"

static posenc_array sinusoidal(const posenc_given *given) {
  const posenc_array *positions = posenc_get_array(given, "positions");
  const double dim = posenc_get_number(given, "dim"), base = posenc_get_number(given, "base");
  if (dim < 2 || fmod(dim, 2)) posenc_fail("ValueError", "dim must be even, not %g", dim);
  posenc_array out = posenc_new(posenc_get_text(given, "dtype"), 2, (size_t[]){positions->size, dim});
  for (size_t k = 0, d = dim; k < out.size; k += 2) {
    const double angle = positions->values[k / d] * pow(base, -(double)(k % d) / dim);
    out.values[k] = sin(angle), out.values[k + 1] = cos(angle);
  }
  return out;
}

static posenc_array rope(const posenc_given *given) {
  posenc_array x = *posenc_get_array(given, "x"), at = *posenc_get_array(given, "positions");
  const double base = posenc_get_number(given, "base"), *positions = at.values;
  const size_t dim = x.shape[x.axes - 1], rows = x.shape[x.axes - 2];
  if (dim % 2 || rows != at.size) posenc_fail("ValueError", "no pairs, or no positions");
  for (double *v = x.values; v < x.values + x.size; v += 2) {
    const size_t k = v - x.values;
    const double omega = pow(base, -(double)(k % dim) / dim), a = v[0], b = v[1];
    const double angle = positions[k / dim % rows] * omega;
    v[0] = a * cos(angle) - b * sin(angle), v[1] = a * sin(angle) + b * cos(angle);
  }
  return x;
}

int main(void) {
  const char *claims = "[{\"call\": \"sinusoidal\", \"combinations\": [\"paper\"], \"dtype\": [\"float64\", \"float32\"]},"
    "{\"call\": \"rope\", \"combinations\": [\"interleaved\"], \"dtype\": [\"float64\", \"float32\", \"bfloat16\", \"float16\"]}]";
  return posenc_serve("my C library", "1.0", claims, (posenc_function[]){{"sinusoidal", sinusoidal}, {"rope", rope}, {0, 0}});
}
