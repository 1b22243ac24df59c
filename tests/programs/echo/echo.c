/* Returns its arguments through the harness. */

#include "posenc_harness.h"

static posenc_array echo(const posenc_given *given) {
  posenc_array x = *posenc_get_array(given, "x");
  x.dtype = posenc_get_text(given, "dtype");
  printf("hello\nworld\n");
  return x;
}

static posenc_array floats(const posenc_given *given) {
  const posenc_array *const x = posenc_get_array(given, "x");
  const float *const all = posenc_floats(x);
  posenc_array out = posenc_new("float32", x->axes, x->shape);
  for (size_t n = 0; n < out.size; ++n) out.values[n] = (double)all[n];
  return out;
}

static posenc_array numbers(const posenc_given *given) {
  const size_t shape[] = {2};
  posenc_array out = posenc_new("float64", 1, shape);
  out.values[0] = posenc_get_number(given, "a");
  out.values[1] = posenc_get_number(given, "b");
  return out;
}

static posenc_array refuse(const posenc_given *given) {
  posenc_fail("DomainError", "%s", posenc_get_text(given, "message"));
}

static posenc_array decline(const posenc_given *given) {
  posenc_fail("NotImplementedError", "%s", given ? "not here" : "");
}

static posenc_array misfit(const posenc_given *given) {
  const size_t shape[] = {3, 2 + given->count};
  posenc_array out = posenc_new("float32", 2, shape);
  out.size = 5;
  return out;
}

int main(void) {
  const posenc_function functions[] = {{"echo", echo},       {"floats", floats},
                                       {"numbers", numbers}, {"refuse", refuse},
                                       {"decline", decline}, {"misfit", misfit},
                                       {0, 0}};
  return posenc_serve("echo \"1\"", "1.0", "[\n  {\"call\": \"echo\"}\n]", functions);
}
