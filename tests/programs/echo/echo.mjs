// Returns its arguments through the harness.

import { NotImplementedError, serve } from './posenc_harness.mjs'

serve('echo "1"', '1.0', [{ call: 'echo' }], {
  async echo({ x, dtype }) {
    console.log('hello')
    process.stdout.write('world\n')
    return { ...x, dtype }
  },
  floats: ({ x }) => ({ ...x, dtype: 'float32', values: Float32Array.from(x.values) }),
  numbers: ({ a, b }) => ({ dtype: 'float64', shape: [2], values: [a, b] }),
  refuse({ message }) {
    throw new RangeError(message)
  },
  decline() {
    throw new NotImplementedError('not here')
  },
  misfit: () => ({ dtype: 'float32', shape: [3, 2], values: new Float32Array(5) }),
})
