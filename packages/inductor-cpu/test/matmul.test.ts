import { describe, expect, it } from 'vitest';
import type { MatmulKernel } from '@tessera/inductor-core';
import { isTesseraError } from '@tessera/shared';
import { printFunctionWithDependencies } from '../src/emit/print-module.js';
import { generateMatmul } from '../src/matmul/generate-matmul.js';
import {
  type Conv,
  type Shape,
  at,
  convForward,
  convWeightGradient,
  ir,
  matmul,
} from './matmul-kernel.js';
import { compareWithInterpreter } from './run-kernel.js';

/** Rounding of sums of k products in [-1, 1] accumulated in f32. */
const TOLERANCE = 2e-5;

describe('matrix products', () => {
  const shapes: Shape[] = [
    { m: 1, n: 1, k: 1 },
    { m: 1, n: 33, k: 7 },
    { m: 33, n: 1, k: 7 },
    { m: 2, n: 3, k: 5 },
    { m: 3, n: 2, k: 100 },
    { m: 4, n: 8, k: 1 },
    { m: 17, n: 19, k: 1 },
    { m: 5, n: 7, k: 9 },
    { m: 64, n: 64, k: 64 },
    { m: 100, n: 10, k: 128 },
    { m: 10, n: 100, k: 31 },
    { m: 37, n: 41, k: 43 },
    { m: 130, n: 24, k: 400 },
    { m: 12, n: 300, k: 33 },
    { m: 1, n: 500, k: 300 },
    { m: 500, n: 1, k: 300 },
    { m: 2, n: 130, k: 390 },
    { m: 260, n: 3, k: 130 },
    { m: 140, n: 270, k: 17 },
    { m: 9, n: 12, k: 0 },
    { m: 2, n: 12, k: 0 },
    { m: 0, n: 12, k: 4 },
    { m: 7, n: 9, k: 11, batch: 5 },
    { m: 16, n: 24, k: 32, batch: 3 },
  ];
  for (const shape of shapes) {
    for (const form of ['NN', 'NT', 'TN', 'TT'] as const) {
      const batch = shape.batch === undefined ? '' : `${shape.batch} × `;
      it(`${batch}[${shape.m}, ${shape.k}] @ [${shape.k}, ${shape.n}] ${form} equals the reference`, () => {
        const { kernel, sizes } = matmul(shape, { form });
        expect(compareWithInterpreter(kernel, sizes)).toBeLessThan(TOLERANCE);
      });
    }
  }

  for (const dtype of ['float64', 'int32', 'int64'] as const) {
    for (const form of ['NN', 'NT', 'TN'] as const) {
      it(`multiplies ${dtype} ${form}`, () => {
        for (const shape of [
          { m: 13, n: 21, k: 37 },
          { m: 1, n: 9, k: 12 },
          { m: 8, n: 3, k: 5 },
        ]) {
          const { kernel, sizes } = matmul(shape, { dtype, form });
          expect(compareWithInterpreter(kernel, sizes)).toBeLessThan(
            dtype === 'float64' ? 1e-12 : 1e-30,
          );
        }
      });
    }
  }

  it('computes rows that are more than loads once, whatever k and the batch are', () => {
    for (const m of [1, 2, 3])
      for (const k of [3, 4, 30, 129]) {
        const { kernel, sizes } = matmul({ m, n: 37, k, batch: 2 }, { form: 'NT' });
        const a = ir.op('mul', [kernel.a, kernel.a]);
        expect(compareWithInterpreter({ ...kernel, a }, sizes)).toBeLessThan(TOLERANCE);
        const squares = generateMatmul({ ...kernel, a }, { relaxedSimd: false });
        const plain = generateMatmul(kernel, { relaxedSimd: false });
        expect(squares.scratchBytesPerThread).toBeGreaterThan(plain.scratchBytesPerThread);
      }
  });

  it('accumulates half-precision operands in float32', () => {
    for (const dtype of ['float16', 'bfloat16'] as const) {
      for (const shape of [
        { m: 20, n: 30, k: 40 },
        { m: 1, n: 30, k: 41 },
      ]) {
        const { kernel, sizes } = matmul(shape, { dtype, form: 'NT' });
        const product = ir.acc('float32', 0);
        const half: MatmulKernel = {
          ...kernel,
          accDtype: 'float32',
          epilogue: [
            {
              kind: 'store',
              buf: 'C',
              index: at({ m: shape.n, n: 1 }),
              value: ir.cast(product, dtype),
            },
          ],
        };
        // One unit in the last place of a half-precision result.
        expect(compareWithInterpreter(half, sizes)).toBeLessThan(
          dtype === 'float16' ? 2e-3 : 1.6e-2,
        );
      }
    }
  });
});

describe('epilogues', () => {
  for (const [m, n, k] of [
    [37, 41, 20],
    [8, 3, 500],
    [3, 50, 500],
    [130, 21, 390],
  ]) {
    it(`fuses bias, residual, scale and relu into [${m}, ${k}] @ [${k}, ${n}]`, () => {
      const { kernel, sizes } = matmul(
        { m, n, k },
        {
          form: 'NT',
          extra: [
            { name: 'bias', dtype: 'float32', access: 'read' },
            { name: 'residual', dtype: 'float32', access: 'read' },
          ],
          scalars: [{ name: 'alpha', dtype: 'float32' }],
          epilogue: (acc) => {
            const biased = ir.op('add', [
              ir.op('mul', [acc, ir.scalar('float32', 'alpha')]),
              ir.load('float32', 'bias', at({ n: 1 })),
            ]);
            const summed = ir.op('add', [
              biased,
              ir.load('float32', 'residual', at({ n: m, m: 1 })),
            ]);
            return [
              {
                kind: 'store',
                buf: 'C',
                index: at({ m: n, n: 1 }),
                value: ir.op('maximum', [summed, ir.const('float32', 0)]),
              },
            ];
          },
        },
      );
      expect(
        compareWithInterpreter(kernel, { ...sizes, bias: n, residual: m * n }, [0.25]),
      ).toBeLessThan(TOLERANCE);
    });

    it(`stores twice, transposed and as a mask, from [${m}, ${k}] @ [${k}, ${n}]`, () => {
      const { kernel, sizes } = matmul(
        { m, n, k },
        {
          extra: [{ name: 'positive', dtype: 'bool', access: 'write' }],
          epilogue: (acc) => [
            { kind: 'store', buf: 'C', index: at({ n: m, m: 1 }), value: ir.op('tanh', [acc]) },
            {
              kind: 'store',
              buf: 'positive',
              index: at({ m: n, n: 1 }),
              value: ir.op('gt', [acc, ir.const('float32', 0)]),
            },
          ],
        },
      );
      expect(compareWithInterpreter(kernel, { ...sizes, positive: m * n })).toBeLessThan(TOLERANCE);
    });
  }

  it('adds in place to a strided slice', () => {
    const { kernel, sizes } = matmul(
      { m: 9, n: 14, k: 30 },
      {
        epilogue: (acc) => {
          const slice = at({ m: 40, n: 2 }, 3);
          return [
            {
              kind: 'store',
              buf: 'C',
              index: slice,
              value: ir.op('add', [acc, ir.load('float32', 'C', slice)]),
            },
          ];
        },
      },
    );
    expect(compareWithInterpreter(kernel, { ...sizes, C: 400 })).toBeLessThan(TOLERANCE);
  });
});

describe('convolutions as implicit products', () => {
  const convs: Conv[] = [
    { batch: 2, channels: 3, out: 8, height: 8, width: 8, kernel: 3, stride: 1, pad: 1 },
    { batch: 1, channels: 1, out: 4, height: 8, width: 8, kernel: 3, stride: 1, pad: 0 },
    { batch: 2, channels: 5, out: 9, height: 7, width: 7, kernel: 3, stride: 1, pad: 1 },
    { batch: 1, channels: 4, out: 12, height: 14, width: 14, kernel: 3, stride: 2, pad: 1 },
    { batch: 1, channels: 16, out: 20, height: 12, width: 15, kernel: 3, stride: 1, pad: 1 },
    { batch: 3, channels: 2, out: 16, height: 9, width: 5, kernel: 5, stride: 1, pad: 2 },
    { batch: 2, channels: 8, out: 16, height: 6, width: 6, kernel: 1, stride: 1, pad: 0 },
  ];
  for (const conv of convs) {
    const name = `${conv.channels}→${conv.out} ${conv.height}×${conv.width} kernel ${conv.kernel} stride ${conv.stride} pad ${conv.pad}`;
    it(`forward with bias and relu, ${name}`, () => {
      const { kernel, sizes } = convForward(conv);
      expect(compareWithInterpreter(kernel, sizes)).toBeLessThan(TOLERANCE);
    });
    it(`gradient of the weights, ${name}`, () => {
      const { kernel, sizes } = convWeightGradient(conv);
      expect(compareWithInterpreter(kernel, sizes)).toBeLessThan(TOLERANCE);
    });
  }
});

describe('prologues', () => {
  it('evaluates an activation of an operand while packing', () => {
    for (const form of ['NN', 'NT'] as const) {
      const { kernel, sizes } = matmul({ m: 21, n: 34, k: 45 }, { form });
      const fused: MatmulKernel = {
        ...kernel,
        a: ir.op('maximum', [kernel.a, ir.const('float32', 0)]),
        b: ir.op('mul', [kernel.b, ir.const('float32', 0.5)]),
      };
      expect(compareWithInterpreter(fused, sizes)).toBeLessThan(TOLERANCE);
    }
  });

  it('gathers rows of an embedding', () => {
    const { kernel, sizes } = matmul({ m: 10, n: 24, k: 16 });
    const row = ir.load('int64', 'rows', at({ m: 1 }));
    const gathered: MatmulKernel = {
      ...kernel,
      params: [...kernel.params, { name: 'rows', dtype: 'int64', access: 'read' }],
      a: ir.load('float32', 'A', ir.add(ir.scale(ir.value(row), 16), ir.sym('k'))),
    };
    const error = compareWithInterpreter(gathered, { ...sizes, rows: 10 }, [], (values) => {
      values.set('rows', [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]);
    });
    expect(error).toBeLessThan(TOLERANCE);
  });
});

describe('generated code', () => {
  it('is the same for the same kernel', () => {
    const { kernel } = convForward({
      batch: 2,
      channels: 3,
      out: 8,
      height: 8,
      width: 8,
      kernel: 3,
      stride: 1,
      pad: 1,
    });
    const text = (): string =>
      printFunctionWithDependencies(generateMatmul(kernel, { relaxedSimd: false }).func);
    expect(text()).toBe(text());
    expect(text()).toContain('(func $window_4x8');
    expect(text()).toContain('(func $conv_pack_image');
    expect(text()).toContain('(func $conv_epilogue');
  });

  it('stores a plain product without an epilogue, and vectors without packing', () => {
    const text = (shape: Shape): string =>
      printFunctionWithDependencies(
        generateMatmul(matmul(shape).kernel, { relaxedSimd: false }).func,
      );
    expect(text({ m: 64, n: 64, k: 64 })).not.toContain('epilogue');
    expect(text({ m: 64, n: 63, k: 64 })).toContain('epilogue');
    expect(text({ m: 2, n: 64, k: 64 })).not.toContain('pack');
  });

  it('multiplies in types that vectors have, and names the others', () => {
    const { kernel } = matmul({ m: 8, n: 8, k: 8 });
    let caught: unknown;
    try {
      generateMatmul({ ...kernel, accDtype: 'bool' }, { relaxedSimd: false });
    } catch (error) {
      caught = error;
    }
    expect(isTesseraError(caught, 'kernel-missing')).toBe(true);
    expect((caught as Error).message).toContain('bool');
  });
});
