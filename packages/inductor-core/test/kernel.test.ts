import { describe, expect, it } from 'vitest';
import {
  type FusedKernel,
  IrBuilder,
  type LoopKernel,
  interpretKernel,
  printKernel,
  verifyKernel,
} from '../src/index.js';

/** Softmax over rows as the scheduler makes it. */
function softmax(rows: number, cols: number): LoopKernel {
  const ir = new IrBuilder();
  const at = ir.add(ir.scale(ir.sym('i0', rows), cols), ir.sym('r0', cols));
  const x = ir.load('float32', 'in0', at);
  const e = ir.op('exp', [ir.op('sub', [x, ir.acc('float32', 0)])]);
  return {
    kind: 'loop',
    name: 'softmax',
    params: [
      { name: 'in0', dtype: 'float32', access: 'read' },
      { name: 'out0', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    outer: [{ name: 'i0', size: rows }],
    inner: [{ name: 'r0', size: cols }],
    stages: [
      {
        kind: 'inner',
        body: [{ kind: 'reduce', op: 'online_softmax', ids: [0, 1], dtype: 'float32', value: x }],
      },
      {
        kind: 'inner',
        body: [
          { kind: 'store', buf: 'out0', index: at, value: ir.op('div', [e, ir.acc('float32', 1)]) },
        ],
      },
    ],
  };
}

describe('kernels', () => {
  it('print as numbered operations', () => {
    expect(printKernel(softmax(2, 4))).toMatchInlineSnapshot(`
      "loop softmax(in0: f32, write out0: f32)
        for [i0:2] inner [r0:4]
        inner:
          t0: f32 = in0[4*i0 + r0]
          acc0, acc1: f32 = online_softmax(t0)
        inner:
          t0: f32 = in0[4*i0 + r0]
          t1: f32 = t0 - acc0
          t2: f32 = exp(t1)
          t3: f32 = t2 / acc1
          out0[4*i0 + r0] = t3"
    `);
  });

  it('run in the interpreter', () => {
    const kernel = softmax(2, 3);
    verifyKernel(kernel);
    const out0 = new Float32Array(6);
    interpretKernel(kernel, { in0: [1, 2, 3, -Infinity, 0, 0], out0 });
    const z = 1 + Math.exp(-1) + Math.exp(-2);
    [Math.exp(-2) / z, Math.exp(-1) / z, 1 / z, 0, 0.5, 0.5].forEach((v, i) =>
      expect(out0[i]).toBeCloseTo(v, 6),
    );
  });

  it('run masked loads only where the mask holds', () => {
    const ir = new IrBuilder();
    const i = ir.sym('i0', 5);
    const inside = ir.op('ge', [ir.index('int32', i), ir.const('int32', 1)]);
    const mask = ir.op('and', [inside, ir.op('lt', [ir.index('int32', i), ir.const('int32', 4)])]);
    const value = ir.masked(mask, ir.load('float32', 'a', ir.sub(i, ir.int(1))), 7);
    const kernel: LoopKernel = {
      kind: 'loop',
      name: 'pad',
      scalars: [],
      outer: [{ name: 'i0', size: 5 }],
      inner: [],
      params: [
        { name: 'a', dtype: 'float32', access: 'read' },
        { name: 'o', dtype: 'float32', access: 'write' },
      ],
      stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'o', index: i, value }] }],
    };
    verifyKernel(kernel);
    const o = [0, 0, 0, 0, 0];
    interpretKernel(kernel, { a: [1, 2, 3], o });
    expect(o).toEqual([7, 1, 2, 3, 7]);
  });

  const broken: readonly [string, (k: LoopKernel) => FusedKernel, RegExp][] = [
    [
      'a result read before it is finished',
      (k) => ({ ...k, stages: [...k.stages].reverse() }),
      /read before it is finished/,
    ],
    ['a variable out of scope', (k) => ({ ...k, outer: [] }), /'i0' is not in scope/],
    [
      'a store to a read-only buffer',
      (k) => ({ ...k, params: k.params.map((p) => ({ ...p, access: 'read' as const })) }),
      /read-only/,
    ],
    [
      'a dtype that differs from its parameter',
      (k) => ({ ...k, params: k.params.map((p) => ({ ...p, dtype: 'float16' as const })) }),
      /loaded as float32/,
    ],
    [
      'an unused parameter',
      (k) => ({
        ...k,
        params: [
          ...k.params,
          { name: 'extra', dtype: 'float32' as const, access: 'read' as const },
        ],
      }),
      /'extra' is not used/,
    ],
  ];
  it.each(broken)('are rejected with %s', (_, breakIt, message) => {
    expect(() => verifyKernel(breakIt(softmax(2, 4)))).toThrow(message);
  });
});
