/* The same for RotaryEmbedding of com.microsoft, which exporters wrote before opset 23 had one. */

#define DOMAIN "com.microsoft"
#include "onnxruntime.c"
