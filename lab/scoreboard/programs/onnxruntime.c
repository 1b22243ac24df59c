/* ONNX Runtime through its C interface, on the CPU: the operator RotaryEmbedding of opset 23.
 *
 * The model is this one node, made with the model editor: no Python, no protobuf, no file. It takes
 * tables of cosines and sines, which exported models hold as constants. They are formed here in
 * float64 and rounded to the dtype of x: layout, sign, partial rotation, gathering and arithmetic
 * are judged, not angles. The tables run backwards, so that rows that are not gathered show. */

#include "onnxruntime_c_api.h"
#include "posenc_harness.h"

#ifndef DOMAIN
#define DOMAIN ""
#endif

enum { X, COS, SIN, IDS, Y };
static const char *const names[] = {"X", "cos_cache", "sin_cache", "position_ids", "Y"};

static const OrtApi *ort;
static const OrtModelEditorApi *edit;
static OrtEnv *env;
static OrtMemoryInfo *cpu;

static void check(OrtStatus *status) {
  if (!status) return;
  char *const message = posenc_memory(512);
  snprintf(message, 512, "%s", ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  posenc_fail("ValueError", "%s", message);
}

static ONNXTensorElementDataType type_of(const posenc_array *array) {
  if (!strcmp(array->dtype, "int64")) return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  if (!strcmp(array->dtype, "float16")) return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static OrtValue *value_of(const posenc_array *array) {
  const posenc_format *const is = posenc_format_of(array->dtype);
  unsigned char *const bytes = posenc_memory(array->size * is->bytes);
  for (size_t k = 0; k < array->size; ++k) {
    const uint64_t bits = posenc_bits_of(array->values[k], is);
    memcpy(bytes + k * is->bytes, &bits, is->bytes);
  }
  int64_t shape[POSENC_AXES];
  for (size_t n = 0; n < array->axes; ++n) shape[n] = array->shape[n];
  OrtValue *value;
  check(ort->CreateTensorWithDataAsOrtValue(cpu, bytes, array->size * is->bytes, shape, array->axes,
                                            type_of(array), &value));
  return value;
}

/* An input or output like this array, of any lengths. */
static OrtValueInfo *info_of(const char *name, const posenc_array *array) {
  OrtTensorTypeAndShapeInfo *shape;
  OrtTypeInfo *type;
  OrtValueInfo *info;
  check(ort->CreateTensorTypeAndShapeInfo(&shape));
  check(ort->SetTensorElementType(shape, type_of(array)));
  check(ort->SetDimensions(shape, (int64_t[]){-1, -1, -1, -1}, array->axes));
  check(edit->CreateTensorTypeInfo(shape, &type));
  check(edit->CreateValueInfo(name, type, &info));
  ort->ReleaseTypeInfo(type), ort->ReleaseTensorTypeAndShapeInfo(shape);
  return info;
}

static OrtSession *session_of(const posenc_array *in, int64_t interleaved, int64_t rotary_dim) {
  const char *const its[] = {"interleaved", "rotary_embedding_dim", "num_heads"};
  const char *const domains[] = {"", DOMAIN};
  const char *const order[] = {names[X], names[IDS], names[COS], names[SIN]};
  const int contrib = *DOMAIN != 0, opsets[] = {23, 1};
  const int64_t settings[] = {interleaved, rotary_dim, in[X].shape[1]};
  OrtValueInfo *infos[Y + 1];
  for (int k = 0; k <= Y; ++k) infos[k] = info_of(names[k], &in[k == Y ? X : k]);
  OrtOpAttr *attributes[3];
  for (int k = 0; k < 3; ++k)
    check(ort->CreateOpAttr(its[k], &settings[k], 1, ORT_OP_ATTR_INT, &attributes[k]));
  OrtNode *node;
  OrtGraph *graph;
  OrtModel *model;
  OrtSessionOptions *options;
  OrtSession *session;
  check(edit->CreateNode("RotaryEmbedding", DOMAIN, "rotary", contrib ? order : names, Y, names + Y,
                         1, attributes, 3, &node));
  check(edit->CreateGraph(&graph));
  check(edit->SetGraphInputs(graph, infos, Y));
  check(edit->SetGraphOutputs(graph, infos + Y, 1));
  check(edit->AddNodeToGraph(graph, node));
  check(edit->CreateModel(domains, opsets, 1 + contrib, &model));
  check(edit->AddGraphToModel(model, graph));
  check(ort->CreateSessionOptions(&options));
  check(edit->CreateSessionFromModel(env, model, options, &session));
  for (int k = 0; k < 3; ++k) ort->ReleaseOpAttr(attributes[k]);
  ort->ReleaseSessionOptions(options), ort->ReleaseModel(model);
  return session;
}

static posenc_array rope(const posenc_given *given) {
  posenc_array x = *posenc_get_array(given, "x"), at = *posenc_get_array(given, "positions");
  if (x.axes < 2) posenc_fail("ValueError", "x has %zu axes, not 2 or more", x.axes);
  const size_t dim = x.shape[x.axes - 1], rows = x.shape[x.axes - 2], n = at.size;
  const int interleaved = !strcmp(posenc_get_text(given, "layout"), "interleaved");
  const double base = posenc_get_number(given, "base");
  const size_t part = posenc_find(given, "rotary_dim") ? posenc_get_number(given, "rotary_dim") : 0;
  const size_t rotated = part ? part : dim, pairs = (rotated + 1) / 2;
  size_t heads = 1;
  for (size_t k = 0; k + 2 < x.axes; ++k) heads *= x.shape[k];

  const size_t table[] = {n, pairs};
  posenc_array in[] = {x, posenc_new(x.dtype, 2, table), posenc_new(x.dtype, 2, table),
                       posenc_new("int64", 2, (size_t[]){1, n})};
  in[X].axes = 4;
  memcpy(in[X].shape, (size_t[]){1, heads, rows, dim}, 4 * sizeof(size_t));
  for (size_t k = 0; k < n * pairs; ++k) {
    const double omega = pow(base, -2.0 * (k % pairs) / rotated);
    const double angle = at.values[n - 1 - k / pairs] * omega;
    in[COS].values[k] = cos(angle), in[SIN].values[k] = sin(angle);
  }
  for (size_t k = 0; k < n; ++k) in[IDS].values[k] = n - 1 - k;

  OrtSession *const session = session_of(in, interleaved, part);
  OrtValue *values[Y + 1] = {0};
  for (int k = 0; k < Y; ++k) values[k] = value_of(&in[k]);
  const OrtValue *const *const inputs = (const OrtValue *const *)values;
  check(ort->Run(session, 0, names, inputs, Y, names + Y, 1, values + Y));
  unsigned char *bytes;
  check(ort->GetTensorMutableData(values[Y], (void **)&bytes));
  const posenc_format *const is = posenc_format_of(x.dtype);
  for (size_t k = 0; k < x.size; ++k) {
    uint64_t bits = 0;
    memcpy(&bits, bytes + k * is->bytes, is->bytes);
    x.values[k] = posenc_value_of(bits, is);
  }
  for (int k = 0; k <= Y; ++k) ort->ReleaseValue(values[k]);
  ort->ReleaseSession(session);
  return x;
}

int main(void) {
  const char *claims = "[{\"call\": \"rope\", \"combinations\": [\"interleaved\", \"half\"],"
    " \"dtype\": [\"float32\", \"float16\"], \"restrictions\": {\"rotation\": \"partial\"}}]";
  ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  edit = ort->GetModelEditorApi();
  if (ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "posenc", &env)) return 1;
  if (ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu)) return 1;
  const posenc_function functions[] = {{"rope", rope}, {0, 0}};
  return posenc_serve("ONNX Runtime", OrtGetApiBase()->GetVersionString(), claims, functions);
}
