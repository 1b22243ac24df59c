/* ggml, the tensor library beneath llama.cpp and whisper.cpp, through its C interface, on the CPU.
 *
 * rope, yarn, position-interpolation   ggml_rope_ext, in its modes for neighbours and halves
 * m-rope                               ggml_rope_multi with four sections, the last of them 0
 *
 * The way of a model: heads lie beside positions, and the operator reads them by their strides. */

#include "ggml-cpu.h"
#include "ggml.h"
#include "posenc_harness.h"

typedef struct ggml_tensor tensor;

static double get(const posenc_given *given, const char *name, double otherwise) {
  return posenc_find(given, name) ? posenc_get_number(given, name) : otherwise;
}

/* x of shape [..., n, head_dim], turned by one operator; sections are those of m-rope, or null. */
static posenc_array turned(const posenc_given *given, int mode, int *sections) {
  posenc_array x = *posenc_get_array(given, "x"), at = *posenc_get_array(given, "positions");
  if (x.axes < 2) posenc_fail("ValueError", "x has %zu axes, not 2 or more", x.axes);
  const size_t dim = x.shape[x.axes - 1], n = x.shape[x.axes - 2];
  const size_t ids = at.size + (sections ? at.shape[at.axes - 1] : 0); /* of a fourth axis */
  size_t heads = 1;
  for (size_t k = 0; k + 2 < x.axes; ++k) heads *= x.shape[k];
  const int half = !strcmp(x.dtype, "float16"), rotated = get(given, "rotary_dim", dim);
  const int length = get(given, "original_max_position_embeddings", 0); /* of yarn alone */
  const float base = get(given, "base", 1e4), scale = 1 / get(given, "factor", 1);
  const float fast = get(given, "beta_fast", 32), slow = get(given, "beta_slow", 1);

  const struct ggml_init_params room = {32 * x.size + 4 * ids + (1 << 20), 0, false};
  struct ggml_context *const c = ggml_init(room);
  tensor *all = ggml_new_tensor_3d(c, half ? GGML_TYPE_F16 : GGML_TYPE_F32, dim, n, heads), *out;
  tensor *places = ggml_new_tensor_1d(c, GGML_TYPE_I32, ids);
  if (half) ggml_fp32_to_fp16_row(posenc_floats(&x), all->data, x.size);
  else memcpy(all->data, posenc_floats(&x), ggml_nbytes(all));
  memset(places->data, 0, ggml_nbytes(places));
  for (size_t k = 0; k < at.size; ++k) ((int32_t *)places->data)[k] = at.values[k];

  tensor *const in = ggml_permute(c, all, 0, 2, 1, 3);
  if (sections)
    out = ggml_rope_multi(c, in, places, 0, rotated, sections, mode, 0, base, 1, 0, 1, fast, slow);
  else
    out = ggml_rope_ext(c, in, places, 0, rotated, mode, length, base, scale, length > 0, 1, fast,
                        slow);
  out = ggml_cont(c, ggml_permute(c, out, 0, 2, 1, 3));
  struct ggml_cgraph *const graph = ggml_new_graph(c);
  ggml_build_forward_expand(graph, out);
  ggml_graph_compute_with_ctx(c, graph, 1);
  for (size_t k = 0; k < x.size; ++k)
    x.values[k] = half ? ggml_fp16_to_fp32(((ggml_fp16_t *)out->data)[k]) : ((float *)out->data)[k];
  ggml_free(c);
  return x;
}

static posenc_array rotary(const posenc_given *given) {
  const int half = !strcmp(posenc_get_text(given, "layout"), "half");
  return turned(given, half ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL, 0);
}

static posenc_array m_rope(const posenc_given *given) {
  const int blocks = !strcmp(posenc_get_text(given, "allocation"), "contiguous");
  const posenc_array *const counts = posenc_get_array(given, "sections");
  int sections[GGML_MROPE_SECTIONS] = {0};
  for (size_t k = 0; k < 3 && k < counts->size; ++k) sections[k] = counts->values[k];
  return turned(given, blocks ? GGML_ROPE_TYPE_MROPE : GGML_ROPE_TYPE_IMROPE, sections);
}

#define CLAIM(call, combinations, more) \
  "{\"call\": \"" call "\", \"combinations\": [" combinations \
  "], \"dtype\": [\"float32\", \"float16\"]" more "}"
#define PARTIAL ", \"restrictions\": {\"rotation\": \"partial\"}"

int main(void) {
  const posenc_function functions[] = {{"rope", rotary}, {"position_interpolation", rotary},
                                       {"yarn", rotary}, {"m_rope", m_rope}, {0, 0}};
  return posenc_serve("ggml", ggml_version(),
    "[" CLAIM("rope", "\"interleaved\", \"half\"", PARTIAL)
    ", " CLAIM("position_interpolation", "\"interleaved\", \"half\"", )
    ", " CLAIM("yarn", "\"code-interleaved\", \"code-half\"", PARTIAL)
    ", " CLAIM("m_rope", "\"qwen2-vl\", \"qwen3-vl\"", ) "]", functions);
}
