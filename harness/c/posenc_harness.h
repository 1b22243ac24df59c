/* Speaks posenc protocol 1 for a program in C11: copy this file beside yours, and include it once.
 *
 * It needs the standard library and a POSIX system. A whole program:
 *
 *     #include "posenc_harness.h"
 *
 *     static posenc_array rope(const posenc_given *given) {
 *       const posenc_array *x = posenc_get_array(given, "x");
 *       const double base = posenc_get_number(given, "base");
 *       posenc_array out = posenc_new(x->dtype, x->axes, x->shape);
 *       ...
 *       return out;
 *     }
 *
 *     int main(void) {
 *       const posenc_function functions[] = {{"rope", rope}, {0, 0}};
 *       return posenc_serve("mylib", "1.0", "[{\"call\": \"rope\"}]", functions);
 *     }
 *
 * Claims are JSON, as the protocol has them. Functions are named as the calls of the specification.
 * posenc_fail answers an error and does not return, which is what bad input should meet. Memory of
 * posenc_new and posenc_memory is given back after the call. What is printed goes to standard error. */

#ifndef POSENC_HARNESS_H
#define POSENC_HARNESS_H

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* POSIX has these, but where C alone was asked for, headers do not say so. */
FILE *fdopen(int, const char *);
ssize_t getline(char **, size_t *, FILE *);

#ifdef __GNUC__
#define POSENC_MAY_BE_UNUSED __attribute__((unused))
#define POSENC_LIKE_PRINTF __attribute__((format(printf, 2, 3), noreturn, unused))
#else
#define POSENC_MAY_BE_UNUSED
#define POSENC_LIKE_PRINTF
#endif

enum { POSENC_AXES = 16, POSENC_ARGUMENTS = 64 };

/* Values in row-major order. A double holds every dtype exactly, whole numbers up to 2^53. They are
 * rounded to the dtype when they are sent. */
typedef struct {
  const char *dtype;
  size_t axes, shape[POSENC_AXES], size;
  double *values;
} posenc_array;

typedef struct {
  const char *name, *text; /* text: 0 unless it is one */
  double number;
  posenc_array *array; /* 0 unless it is one */
} posenc_argument;

typedef struct {
  size_t count;
  posenc_argument arguments[POSENC_ARGUMENTS];
} posenc_given;

typedef struct {
  const char *name;
  posenc_array (*function)(const posenc_given *);
} posenc_function;

typedef struct posenc_block {
  struct posenc_block *next;
  double memory[]; /* aligned for whatever is put there */
} posenc_block;

static struct {
  jmp_buf back;
  posenc_block *blocks;
  char type[64], message[512];
} posenc_state;

/* Answers an error of this type, such as "ValueError", and leaves the function. The type
 * "NotImplementedError" says that the program does not do this: the call counts as not claimed. */
POSENC_LIKE_PRINTF static void posenc_fail(const char *type, const char *message, ...) {
  va_list rest;
  va_start(rest, message);
  vsnprintf(posenc_state.message, sizeof posenc_state.message, message, rest);
  va_end(rest);
  snprintf(posenc_state.type, sizeof posenc_state.type, "%s", type);
  longjmp(posenc_state.back, 1);
}

/* Zeroed memory that is given back after the call. */
static void *posenc_memory(size_t bytes) {
  posenc_block *const block = calloc(1, sizeof(posenc_block) + bytes + 1);
  if (!block) posenc_fail("MemoryError", "no memory of %zu bytes", bytes);
  block->next = posenc_state.blocks;
  posenc_state.blocks = block;
  return block->memory;
}

/* An array of zeros. */
static posenc_array posenc_new(const char *dtype, size_t axes, const size_t *shape) {
  posenc_array array = {dtype, axes, {0}, 1, 0};
  if (axes > POSENC_AXES) posenc_fail("ValueError", "an array has at most %d axes", POSENC_AXES);
  for (size_t n = 0; n < axes; ++n) array.size *= array.shape[n] = shape[n];
  array.values = posenc_memory(array.size * sizeof(double));
  return array;
}

/* 0 if there is no such argument. */
static const posenc_argument *posenc_find(const posenc_given *given, const char *name) {
  for (size_t n = 0; n < given->count; ++n)
    if (!strcmp(given->arguments[n].name, name)) return &given->arguments[n];
  return 0;
}

POSENC_MAY_BE_UNUSED static const posenc_array *posenc_get_array(const posenc_given *given,
                                                                 const char *name) {
  const posenc_argument *const found = posenc_find(given, name);
  if (!found || !found->array) posenc_fail("KeyError", "nothing is given as %s", name);
  return found->array;
}

POSENC_MAY_BE_UNUSED static double posenc_get_number(const posenc_given *given, const char *name) {
  const posenc_argument *const found = posenc_find(given, name);
  if (!found || found->array || found->text)
    posenc_fail("KeyError", "nothing is given as %s", name);
  return found->number;
}

POSENC_MAY_BE_UNUSED static const char *posenc_get_text(const posenc_given *given,
                                                        const char *name) {
  const posenc_argument *const found = posenc_find(given, name);
  if (!found || !found->text) posenc_fail("KeyError", "nothing is given as %s", name);
  return found->text;
}

/* The values as floats, in memory that is given back after the call. */
POSENC_MAY_BE_UNUSED static float *posenc_floats(const posenc_array *array) {
  float *const floats = posenc_memory(array->size * sizeof(float));
  for (size_t n = 0; n < array->size; ++n) floats[n] = (float)array->values[n];
  return floats;
}

/* How many bytes an element has, and how many bits of a float are its exponent and its fraction. */
typedef struct {
  const char *name;
  int bytes, is_signed, exponent, fraction;
} posenc_format;

static const posenc_format *posenc_format_of(const char *dtype) {
  static const posenc_format formats[] = {
      {"float64", 8, 1, 11, 52}, {"float32", 4, 1, 8, 23}, {"bfloat16", 2, 1, 8, 7},
      {"float16", 2, 1, 5, 10},  {"int64", 8, 1, 0, 0},    {"int32", 4, 1, 0, 0},
      {"int16", 2, 1, 0, 0},     {"int8", 1, 1, 0, 0},     {"uint64", 8, 0, 0, 0},
      {"uint32", 4, 0, 0, 0},    {"uint16", 2, 0, 0, 0},   {"uint8", 1, 0, 0, 0},
      {"bool", 1, 0, 0, 0}};
  for (size_t n = 0; n < sizeof formats / sizeof formats[0]; ++n)
    if (!strcmp(formats[n].name, dtype)) return &formats[n];
  posenc_fail("TypeError", "%s is no dtype", dtype);
}

static double posenc_value_of(uint64_t bits, const posenc_format *is) {
  if (!is->exponent) {
    uint64_t sign = (uint64_t)1 << (8 * is->bytes - 1);
    double value = (double)bits;
    if (is->is_signed && bits & sign) value = -(double)(sign - (bits & (sign - 1)));
    if (fabs(value) > 9007199254740992.0)
      posenc_fail("RangeError", "a whole number is larger than 2^53");
    return value;
  }
  const int largest = (1 << is->exponent) - 1;
  const int exponent = (int)(bits >> is->fraction) & largest;
  const uint64_t fraction = bits & (((uint64_t)1 << is->fraction) - 1);
  const double units = (double)fraction + (exponent ? ldexp(1.0, is->fraction) : 0.0);
  double value = ldexp(units, (exponent ? exponent : 1) - (largest >> 1) - is->fraction);
  if (exponent == largest) value = fraction ? NAN : INFINITY;
  return bits >> (8 * is->bytes - 1) ? -value : value;
}

/* Rounds to the nearest value of the dtype, and of two to the even one. */
static uint64_t posenc_bits_of(double value, const posenc_format *is) {
  if (!is->exponent) {
    if (!(fabs(value) <= 9007199254740992.0) || value != trunc(value))
      posenc_fail("RangeError", "a whole number was expected, of at most 2^53");
    return (uint64_t)(int64_t)value;
  }
  const int bias = (1 << (is->exponent - 1)) - 1;
  const uint64_t infinity = (((uint64_t)1 << is->exponent) - 1) << is->fraction;
  const uint64_t sign = signbit(value) ? (uint64_t)1 << (8 * is->bytes - 1) : 0;
  if (isnan(value)) return sign | infinity | (uint64_t)1 << (is->fraction - 1);
  if (isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const int exponent = ilogb(value) < 1 - bias ? 1 - bias : ilogb(value);
  const double units = nearbyint(ldexp(fabs(value), is->fraction - exponent));
  const uint64_t stored = ((uint64_t)(exponent + bias - 1) << is->fraction) + (uint64_t)units;
  return sign | (stored < infinity ? stored : infinity);
}

static const char posenc_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void posenc_decode(posenc_array *array, const char *text) {
  const posenc_format *const is = posenc_format_of(array->dtype);
  unsigned char meaning[256] = {0};
  for (int n = 0; n < 64; ++n) meaning[(unsigned char)posenc_letters[n]] = (unsigned char)n;
  uint64_t element = 0, waiting = 0;
  int bits = 0, bytes = 0;
  for (size_t at = 0; *text && *text != '=' && at < array->size; ++text) {
    waiting = waiting << 6 | meaning[(unsigned char)*text];
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    element |= (waiting >> bits & 0xFF) << (8 * bytes);
    if (++bytes < is->bytes) continue;
    array->values[at++] = posenc_value_of(element, is);
    element = 0;
    bytes = 0;
  }
}

static char *posenc_encode(const posenc_array *array) {
  const posenc_format *const is = posenc_format_of(array->dtype);
  char *const text = posenc_memory((array->size * (size_t)is->bytes + 2) / 3 * 4 + 1), *at = text;
  uint64_t waiting = 0;
  int bits = 0;
  for (size_t k = 0; k < array->size; ++k) {
    const uint64_t element = posenc_bits_of(array->values[k], is);
    for (int n = 0; n < is->bytes; ++n) {
      waiting = waiting << 8 | (element >> (8 * n) & 0xFF);
      for (bits += 8; bits >= 6; bits -= 6) *at++ = posenc_letters[waiting >> (bits - 6) & 63];
    }
  }
  if (bits) *at++ = posenc_letters[waiting << (6 - bits) & 63];
  while ((at - text) % 4) *at++ = '=';
  return text;
}

/* What follows reads what the kit writes, which is right: it looks for no errors but an early end. */
static char posenc_peek(char **at) {
  while (**at == ' ' || **at == '\t' || **at == '\r' || **at == '\n') ++*at;
  if (!**at) posenc_fail("ValueError", "the request ends too early");
  return **at;
}

static int posenc_over(char **at, char close) {
  if (posenc_peek(at) == ',') ++*at;
  if (posenc_peek(at) != close) return 0;
  ++*at;
  return 1;
}

static unsigned posenc_hexadecimal(char **at) {
  char digits[5] = {0};
  for (int n = 0; n < 4 && **at; ++n) digits[n] = *(*at)++;
  return (unsigned)strtoul(digits, 0, 16);
}

/* The text, unescaped where it stands: that makes it no longer. */
static char *posenc_string(char **at) {
  posenc_peek(at);
  char *const start = ++*at, *out = start;
  while (**at && **at != '"') {
    if (**at != '\\') {
      *out++ = *(*at)++;
      continue;
    }
    const char what = (*at)[1];
    *at += 2;
    if (what != 'u') {
      const char *const found = what ? strchr("b\bf\fn\nr\rt\t", what) : 0;
      *out++ = found ? found[1] : what;
      continue;
    }
    unsigned code = posenc_hexadecimal(at);
    if (code >= 0xD800 && code < 0xDC00) {
      *at += 2;
      code = 0x10000 + ((code - 0xD800) << 10) + (posenc_hexadecimal(at) - 0xDC00);
    }
    const int more = (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF);
    *out++ = (char)("\x00\xC0\xE0\xF0"[more] | (int)(code >> (6 * more)));
    for (int n = more; n-- > 0;) *out++ = (char)(0x80 | (code >> (6 * n) & 0x3F));
  }
  posenc_peek(at);
  ++*at;
  *out = 0;
  return start;
}

static double posenc_number(char **at) {
  char *const before = setlocale(LC_NUMERIC, 0), *const kept = posenc_memory(strlen(before) + 1);
  strcpy(kept, before);
  setlocale(LC_NUMERIC, "C"); /* where a library has set one with decimal commas */
  const double number = strtod(*at, at);
  setlocale(LC_NUMERIC, kept);
  return number;
}

static char *posenc_key(char **at) {
  char *const name = posenc_string(at);
  posenc_peek(at);
  ++*at; /* the colon */
  posenc_peek(at);
  return name;
}

static posenc_array *posenc_received(char **at) {
  posenc_array read = {"", 0, {0}, 0, 0};
  const char *data = "";
  for (++*at; !posenc_over(at, '}');) {
    const char *const name = posenc_key(at);
    if (!strcmp(name, "dtype")) read.dtype = posenc_string(at);
    if (!strcmp(name, "data")) data = posenc_string(at);
    if (strcmp(name, "shape")) continue;
    for (++*at; !posenc_over(at, ']');) {
      if (read.axes == POSENC_AXES) posenc_fail("ValueError", "too many axes");
      read.shape[read.axes++] = (size_t)posenc_number(at);
    }
  }
  posenc_array *const array = posenc_memory(sizeof *array);
  *array = posenc_new(read.dtype, read.axes, read.shape);
  posenc_decode(array, data);
  return array;
}

/* A value by name: what is no array or list is read into the argument. */
static void posenc_read(char **at, posenc_argument *argument) {
  argument->name = posenc_key(at);
  if (**at == '{')
    argument->array = posenc_received(at);
  else if (**at == '"')
    argument->text = posenc_string(at);
  else
    argument->number = posenc_number(at);
}

/* Bytes beyond ASCII, of whatever encoding, become question marks. */
static void posenc_quote(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; ++text) {
    const unsigned char code = (unsigned char)*text;
    if (*text == '"' || *text == '\\') fputc('\\', out);
    fputc(code < 0x20 ? ' ' : code > 0x7E ? '?' : *text, out);
  }
  fputc('"', out);
}

typedef struct {
  double id, protocol;
  const char *request, *call;
  char *arguments; /* where they stand in the line */
} posenc_request;

/* Goes over an object, whatever is in it. */
static void posenc_skip(char **at) {
  int depth = 0, quoted = 0;
  do {
    if (!**at) posenc_fail("ValueError", "the request ends too early");
    if (quoted && **at == '\\' && (*at)[1]) ++*at;
    else if (**at == '"') quoted = !quoted;
    else if (!quoted) depth += (**at == '{') - (**at == '}');
    ++*at;
  } while (depth);
}

static void posenc_read_request(posenc_request *request, char *at) {
  posenc_peek(&at);
  for (++at; !posenc_over(&at, '}');) {
    posenc_argument field = {0};
    if (!strncmp(at, "\"arguments\"", 11)) { /* which are read with the call */
      posenc_key(&at);
      request->arguments = at;
      posenc_skip(&at);
      continue;
    }
    posenc_read(&at, &field);
    if (!strcmp(field.name, "id")) request->id = field.number;
    if (!strcmp(field.name, "protocol")) request->protocol = field.number;
    if (!strcmp(field.name, "request")) request->request = field.text;
    if (!strcmp(field.name, "call")) request->call = field.text;
  }
}

static void posenc_call(FILE *out, const posenc_request *asked, const posenc_function *functions) {
  while (functions->name && strcmp(functions->name, asked->call)) ++functions;
  if (!functions->name) posenc_fail("NotImplementedError", "no function has this name");
  posenc_given *const given = posenc_memory(sizeof *given);
  char *at = asked->arguments;
  for (++at; !posenc_over(&at, '}');) {
    if (given->count == POSENC_ARGUMENTS) posenc_fail("ValueError", "too many arguments");
    posenc_read(&at, &given->arguments[given->count++]);
  }
  const posenc_array array = functions->function(given);
  size_t count = 1;
  for (size_t n = 0; n < array.axes; ++n) count *= array.shape[n];
  if (count != array.size)
    posenc_fail("ValueError", "%zu values are not of the shape, which has %zu", array.size, count);
  const char *const data = posenc_encode(&array);
  fprintf(out, "{\"id\": %.0f, \"result\": {\"dtype\": \"%s\", \"shape\": [", asked->id, array.dtype);
  for (size_t n = 0; n < array.axes; ++n) fprintf(out, "%s%zu", n ? ", " : "", array.shape[n]);
  fprintf(out, "], \"data\": \"%s\"}}\n", data);
}

static void posenc_describe(FILE *out, const posenc_request *asked, const char *name,
                            const char *version, const char *claims) {
  if (asked->protocol != 1) posenc_fail("ValueError", "this program speaks posenc protocol 1");
  fprintf(out, "{\"id\": %.0f, \"result\": {\"protocol\": 1, \"name\": ", asked->id);
  posenc_quote(out, name);
  fputs(", \"version\": ", out);
  posenc_quote(out, version);
  fputs(", \"language\": \"C\", \"claims\": ", out);
  for (; *claims; ++claims) fputc(*claims == '\n' ? ' ' : *claims, out);
  fputs("}}\n", out);
}

/* Answers requests until there are no more; what main returns. */
static int posenc_serve(const char *name, const char *version, const char *claims,
                        const posenc_function *functions) {
  FILE *const out = fdopen(dup(1), "wb");
  dup2(2, 1); /* what is printed must not come among the answers */
  static char *line;
  static size_t room;
  int leaving = 0;
  while (!leaving && getline(&line, &room, stdin) > 0) {
    static posenc_request asked;
    memset(&asked, 0, sizeof asked);
    if (setjmp(posenc_state.back)) {
      fprintf(out, "{\"id\": %.0f, \"error\": {\"type\": ", asked.id);
      posenc_quote(out, posenc_state.type);
      fputs(", \"message\": ", out);
      posenc_quote(out, posenc_state.message);
      fputs("}}\n", out);
    } else {
      posenc_read_request(&asked, line);
      if (!strcmp(asked.request, "call")) {
        posenc_call(out, &asked, functions);
      } else if (!strcmp(asked.request, "describe")) {
        posenc_describe(out, &asked, name, version, claims);
      } else {
        fprintf(out, "{\"id\": %.0f, \"result\": null}\n", asked.id);
      }
    }
    leaving = asked.request && !strcmp(asked.request, "goodbye");
    while (posenc_state.blocks) {
      posenc_block *const next = posenc_state.blocks->next;
      free(posenc_state.blocks);
      posenc_state.blocks = next;
    }
    fflush(stdout);
    fflush(out);
  }
  free(line);
  return fclose(out);
}

#endif
