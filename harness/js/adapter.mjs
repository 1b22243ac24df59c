import { serve } from './posenc_harness.mjs'

function sinusoidal({ positions, dim, base, dtype }) {
  if (dim < 2 || dim % 2) throw new RangeError('dim must be even')
  const values = []
  for (const position of positions.values) {
    for (let t = 0; t < dim; t += 2) {
      const angle = position * base ** (-t / dim)
      values.push(Math.sin(angle), Math.cos(angle))
    }
  }
  return { dtype, shape: [positions.values.length, dim], values }
}

function rope({ x: { dtype, shape, values }, positions: { values: positions }, base }) {
  const [rows, dim] = shape.slice(-2)
  if (dim % 2 || rows !== positions.length) throw new RangeError('no pairs, or no positions')
  const turned = new Float64Array(values.length)
  for (let k = 0; k < values.length; k += 2) {
    const omega = base ** (-(k % dim) / dim)
    const angle = positions[Math.floor(k / dim) % rows] * omega
    turned[k] = values[k] * Math.cos(angle) - values[k + 1] * Math.sin(angle)
    turned[k + 1] = values[k] * Math.sin(angle) + values[k + 1] * Math.cos(angle)
  }
  return { dtype, shape, values: turned }
}

serve('my JavaScript library', '1.0', [
  { call: 'sinusoidal', combinations: ['paper'], dtype: ['float64', 'float32'] },
  { call: 'rope', combinations: ['interleaved'], dtype: ['float64', 'float32', 'bfloat16', 'float16'] },
], { sinusoidal, rope })
