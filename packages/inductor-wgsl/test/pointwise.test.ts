import { IrBuilder, type LoopKernel } from '@tessera/inductor-core';
import { describe, it } from 'vitest';
import { openGpu } from './support/open-gpu.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();

describe.skipIf(gpu === null)('pointwise kernels on the device', () => {
  it('adds and multiplies with a tail', async () => {
    for (const n of [1, 3, 4, 5, 1023, 1024, 4099]) {
      const b = new IrBuilder();
      const i = b.sym('i0', n);
      const x = b.load('float32', 'x', i);
      const y = b.load('float32', 'y', i);
      const kernel: LoopKernel = {
        kind: 'loop',
        name: `mul_add_${n}`,
        params: [
          { name: 'x', dtype: 'float32', access: 'read' },
          { name: 'y', dtype: 'float32', access: 'read' },
          { name: 'out', dtype: 'float32', access: 'write' },
        ],
        scalars: [],
        outer: [{ name: 'i0', size: n }],
        inner: [],
        stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value: b.op('add', [b.op('mul', [x, y]), b.op('tanh', [x])]) }] }],
      };
      const values = Array.from({ length: n }, (_, k) => Math.sin(k) * 3);
      await compareKernel(gpu!, kernel, { x: values, y: values.map((v) => v + 1), out: values.map(() => 0) });
    }
  });
});
