// ONNX Runtime for browsers and Node, compiled to WebAssembly: RotaryEmbedding of opset 23.
//
// The model is this one node, written here byte by byte. It takes tables of cosines and sines, which
// exported models hold as constants. They are formed in float64 and rounded to float32: layout,
// sign, partial rotation, gathering and arithmetic are judged, not angles. The tables run backwards,
// so that rows that are not gathered show.

import * as ort from 'onnxruntime-web'
import { serve } from './posenc_harness.mjs'

const FLOAT = 1
const INT64 = 7

// A message of protocol buffers: fields by number, each a number, text or another message's bytes.
function message(...fields) {
  return fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(number << 3), ...varint(value)]
    const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
    return [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes]
  })
}

function varint(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]
}

// An input or output of any lengths.
function info(name, type, axes) {
  const lengths = Array.from({ length: axes }, (_, axis) => [1, message([2, `${name}${axis}`])])
  return message([1, name], [2, message([1, message([1, type], [2, message(...lengths)])])])
}

function model(attributes) {
  const settings = Object.entries(attributes)
  const node = message(
    ...['X', 'cos', 'sin', 'ids'].map((name) => [1, name]),
    [2, 'Y'],
    [4, 'RotaryEmbedding'],
    ...settings.map(([name, value]) => [5, message([1, name], [3, value], [20, 2])]),
  )
  const graph = message(
    [1, node],
    [2, 'rotary'],
    [11, info('X', FLOAT, 4)],
    [11, info('cos', FLOAT, 2)],
    [11, info('sin', FLOAT, 2)],
    [11, info('ids', INT64, 2)],
    [12, info('Y', FLOAT, 4)],
  )
  return Uint8Array.from(message([1, 11], [7, graph], [8, message([2, 23])]))
}

const sessions = new Map()

function session(attributes) {
  const key = JSON.stringify(attributes)
  if (!sessions.has(key)) sessions.set(key, ort.InferenceSession.create(model(attributes)))
  return sessions.get(key)
}

async function rope(given) {
  const { x, positions, base, layout } = given
  const [rows, dim] = x.shape.slice(-2)
  const heads = x.shape.slice(0, -2).reduce((product, size) => product * size, 1)
  const part = 'rotary_dim' in given ? given.rotary_dim : 0
  const rotated = part || dim
  const pairs = Math.ceil(rotated / 2)
  const count = positions.values.length
  const angles = Float64Array.from({ length: count * pairs }, (_, k) => {
    const position = positions.values[count - 1 - Math.floor(k / pairs)]
    return position * base ** ((-2 * (k % pairs)) / rotated)
  })
  const table = (wave) => new ort.Tensor('float32', Float32Array.from(angles, wave), [count, pairs])
  const ids = BigInt64Array.from({ length: count }, (_, k) => BigInt(count - 1 - k))
  const attributes = { interleaved: Number(layout === 'interleaved'), rotary_embedding_dim: part }
  const { Y } = await (await session(attributes)).run({
    X: new ort.Tensor('float32', Float32Array.from(x.values), [1, heads, rows, dim]),
    cos: table((angle) => Math.cos(angle)),
    sin: table((angle) => Math.sin(angle)),
    ids: new ort.Tensor('int64', ids, [1, count]),
  })
  return { dtype: x.dtype, shape: x.shape, values: Y.data }
}

serve('ONNX Runtime Web', ort.env.versions.web, [
  {
    call: 'rope',
    combinations: ['interleaved', 'half'],
    dtype: ['float32'],
    restrictions: { rotation: 'partial' },
  },
], { rope })
