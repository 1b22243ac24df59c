// Speaks posenc protocol 1 for a program in JavaScript: copy this file beside yours.
//
// It needs Node and no packages. A whole program:
//
//     import { serve } from './posenc_harness.mjs'
//
//     function rope({ x, positions, base }) {
//       ...
//       return { dtype: x.dtype, shape: x.shape, values: turned }
//     }
//
//     serve('mylib', '1.0', [{ call: 'rope', combinations: ['half'] }], { rope })
//
// Claims are those of the protocol. Functions are named as the calls of the specification, and are
// given all arguments as one object. An array is { dtype, shape, values }, with its values in
// row-major order as a Float64Array, which holds every dtype exactly (whole numbers up to 2^53).
// They are rounded to the dtype when they are sent. A function may be async. What it throws is the
// answer to bad input. What is printed goes to standard error.

import { createInterface } from 'node:readline'

// Thrown, it says that the program does not do what it was asked: this counts as not claimed.
export class NotImplementedError extends Error {
  name = 'NotImplementedError'
}

// How many bytes an element has, how it is read and written.
const FORMATS = {
  float64: [8, (view, at) => view.getFloat64(at, true), (view, at, x) => view.setFloat64(at, x, true)],
  float32: [4, (view, at) => view.getFloat32(at, true), (view, at, x) => view.setFloat32(at, x, true)],
  bfloat16: small(8, 7),
  float16: small(5, 10),
  int64: whole('BigInt64'),
  int32: whole('Int32'),
  int16: whole('Int16'),
  int8: whole('Int8'),
  uint64: whole('BigUint64'),
  uint32: whole('Uint32'),
  uint16: whole('Uint16'),
  uint8: whole('Uint8'),
  bool: whole('Uint8'),
}

// Answers requests until there are no more.
export async function serve(name, version, claims, functions) {
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = process.stderr.write.bind(process.stderr) // for console.log and its like
  const description = { protocol: 1, name, version, language: 'JavaScript', claims }
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const request = JSON.parse(line)
    let answer
    try {
      answer = { id: request.id, result: await result(request, description, functions) }
    } catch (error) {
      const type = error?.name || 'Error'
      answer = { id: request.id, error: { type, message: String(error?.message ?? error) } }
    }
    write(JSON.stringify(answer) + '\n')
    if (request.request === 'goodbye') break
  }
  process.stdin.destroy()
}

async function result(request, description, functions) {
  if (request.request === 'goodbye') return null
  if (request.request === 'describe') {
    if (request.protocol !== 1) throw new Error('this program speaks posenc protocol 1')
    return description
  }
  if (!Object.hasOwn(functions, request.call)) {
    throw new NotImplementedError('no function has this name')
  }
  const given = {}
  for (const [name, value] of Object.entries(request.arguments)) {
    given[name] = typeof value === 'object' ? received(value) : value
  }
  const strict = new Proxy(given, {
    get(target, name) {
      if (!(name in target)) throw new TypeError(`nothing is given as ${String(name)}`)
      return target[name]
    },
  })
  return sent(await functions[request.call](strict))
}

function format(dtype) {
  if (!Object.hasOwn(FORMATS, dtype)) throw new TypeError(`${dtype} is no dtype`)
  return FORMATS[dtype]
}

function received({ dtype, shape, data }) {
  const [bytes, read] = format(dtype)
  const buffer = Buffer.from(data, 'base64')
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  const values = Float64Array.from({ length: buffer.length / bytes }, (_, n) => read(view, n * bytes))
  return { dtype, shape, values }
}

function sent({ dtype, shape, values }) {
  const [bytes, , write] = format(dtype)
  if (shape.reduce((product, length) => product * length, 1) !== values.length) {
    throw new RangeError(`${values.length} values are not of the shape [${shape}]`)
  }
  const buffer = Buffer.alloc(values.length * bytes)
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  values.forEach((value, n) => write(view, n * bytes, Number(value)))
  return { dtype, shape: Array.from(shape), data: buffer.toString('base64') }
}

function whole(kind) {
  const wide = kind.startsWith('Big')
  const bytes = parseInt(kind.match(/\d+/)[0]) / 8
  const checked = (x) => {
    if (!Number.isInteger(x) || Math.abs(x) > 2 ** 53) {
      throw new RangeError('a whole number was expected, of at most 2^53')
    }
    return x
  }
  const read = (view, at) => {
    const found = view[`get${kind}`](at, true)
    const exact = Number(found)
    if (Math.abs(exact) > 2 ** 53) throw new RangeError('a whole number is beyond 2^53')
    return exact
  }
  const write = (view, at, x) => view[`set${kind}`](at, wide ? BigInt(checked(x)) : checked(x), true)
  return [bytes, read, write]
}

// Floats of 16 bits, of which so many are the exponent and so many the fraction.
function small(exponentBits, fractionBits) {
  const [bias, hidden] = [2 ** (exponentBits - 1) - 1, 2 ** fractionBits]
  const infinity = (2 ** exponentBits - 1) * hidden
  const read = (view, at) => {
    const bits = view.getUint16(at, true)
    const [sign, magnitude] = [bits >> 15 ? -1 : 1, bits & 0x7fff]
    if (magnitude >= infinity) return magnitude > infinity ? NaN : sign * Infinity
    const exponent = Math.floor(magnitude / hidden)
    const units = (magnitude % hidden) + (exponent ? hidden : 0)
    return sign * units * 2 ** (Math.max(exponent, 1) - bias - fractionBits)
  }
  const bitsOf = (x) => {
    if (Number.isNaN(x)) return infinity + hidden / 2
    if (x >= 2 ** (bias + 1)) return infinity
    let exponent = 1 - bias
    if (x >= 2 ** exponent) exponent = Math.floor(Math.log2(x))
    if (x < 2 ** exponent && exponent > 1 - bias) exponent -= 1 // where the logarithm was rounded
    const units = x / 2 ** (exponent - fractionBits)
    const below = Math.floor(units)
    const up = units - below > 0.5 || (units - below === 0.5 && below % 2 === 1)
    return Math.min((exponent + bias - 1) * hidden + below + (up ? 1 : 0), infinity)
  }
  const write = (view, at, x) => {
    const negative = x < 0 || Object.is(x, -0)
    view.setUint16(at, bitsOf(Math.abs(x)) + (negative ? 0x8000 : 0), true)
  }
  return [2, read, write]
}
