import { makeFx } from '@tessera/graph';
import { config } from '@tessera/shared';
import { type DType, type Tensor, manualSeed, randn, tensor } from '@tessera/tensor';
import { readNumbers, weightInt4packMm, weightInt8packMm } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type Capabilities,
  type ExecutionPlan,
  FACTORED_ROWS,
  compileGraph,
  compileToExecutable,
  printKernel,
  verifyPlan,
} from '../src/index.js';
import { target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

const WIDTH = 48;
const REPEATS: Partial<Capabilities> = { factoredRows: FACTORED_ROWS, maxBuffersPerKernel: 8 };

/** The root mean square norm of rows, in float32 inside. */
function norm(x: Tensor, weight: Tensor): Tensor {
  const wide = x.to('float32');
  const scale = wide.mul(wide).mean(-1, { keepdim: true }).add(1e-5).rsqrt();
  return wide.mul(scale).mul(weight.to('float32')).to(x.dtype);
}

/** A row, its norm's weight, and matrices of so many columns. */
function given(columns: readonly number[], dtype: DType = 'float32', rows = 1): Tensor[] {
  manualSeed(3);
  return [randn([rows, WIDTH]), randn([WIDTH]), ...columns.map((n) => randn([WIDTH, n]))].map((x) =>
    x.to(dtype),
  );
}

type Program = (x: Tensor, weight: Tensor, ...matrices: Tensor[]) => Tensor[];

const products: Program = (x, weight, ...matrices) => {
  const row = norm(x, weight);
  return matrices.map((matrix) => row.mm(matrix));
};

function plan(
  program: Program,
  inputs: readonly Tensor[],
  overrides: Partial<Capabilities> = REPEATS,
): ExecutionPlan {
  const made = compileGraph(
    makeFx((...args: Tensor[]) => program(...(args as [Tensor, Tensor])))(...inputs),
    {
      backend: target(overrides),
      name: 'row',
    },
  );
  verifyPlan(made);
  return made;
}

function launches(...args: Parameters<typeof plan>): number {
  return plan(...args).launches.length;
}

describe('products of a row with a factor that is made of a sum over it', () => {
  it('sum the row beside the products, which share one kernel where they are equally wide', () => {
    const made = plan(products, given([20, 20]));
    expect(made.launches).toHaveLength(1);
    expect(printKernel(made.kernels[0]!)).toMatchInlineSnapshot(`
      "loop fused_mm_mul_0(in0: f32, in1: f32, in2: f32, in3: f32, write out0: f32, write out1: f32)
        for [i0:20] inner [r0:48]
        inner:
          t0: f32 = in0[r0]
          t1: f32 = in1[r0]
          t2: f32 = t0 * t1
          t3: f32 = in2[20*r0 + i0]
          t4: f32 = t2 * t3
          acc0: f32 = sum(t4)
          t6: f32 = t1 * t1
          acc1: f32 = sum(t6)
          t8: f32 = in3[20*r0 + i0]
          t9: f32 = t2 * t8
          acc2: f32 = sum(t9)
        outer:
          t0: f32 = acc1 / 48
          t1: f32 = t0 + 0.000009999999747378752
          t2: f32 = rsqrt(t1)
          t3: f32 = acc0 * t2
          out0[i0] = t3
          t5: f32 = acc2 * t2
          out1[i0] = t5"
    `);
  });

  it('are a kernel each where widths differ, and the norm is none', () => {
    expect(launches(products, given([20, 30, 40]))).toBe(3);
    expect(launches(products, given([20, 30, 40]), { maxBuffersPerKernel: 8 })).toBe(4);
  });

  it('take what becomes of the products into their kernel', () => {
    const gated: Program = (x, weight, gate, up) => {
      const row = norm(x, weight);
      return [row.mm(gate!).sigmoid().mul(row.mm(up!))];
    };
    expect(launches(gated, given([64, 64]))).toBe(1);
  });

  it('are the same with weights of 8 and 4 bits', () => {
    manualSeed(4);
    const words = (perWord: number): Tensor =>
      tensor(
        Array.from({ length: 20 }, (_, n) =>
          Array.from({ length: 64 / perWord }, (_, i) => Math.imul(64 * n + i + 1, 0x9e3779b1)),
        ),
        { dtype: 'int32' },
      );
    const inputs = [
      randn([1, 64]),
      randn([64]),
      words(4),
      randn([20]),
      words(8),
      randn([2, 20, 2]),
    ];
    const program = (x: Tensor, weight: Tensor, ...packed: Tensor[]): Tensor[] => {
      const row = norm(x, weight);
      const [bytes, scale, nibbles, scales] = packed as [Tensor, Tensor, Tensor, Tensor];
      return [weightInt8packMm(row, bytes, scale), weightInt4packMm(row, nibbles, 32, scales)];
    };
    expect(launches(program, inputs)).toBe(1);
    const graph = makeFx((...args: Tensor[]) => program(...(args as [Tensor, Tensor])))(...inputs);
    const made = compileToExecutable(graph, interpreterBackend(REPEATS))(inputs) as Tensor[];
    const eager = program(...(inputs as [Tensor, Tensor]));
    for (const [i, result] of made.entries())
      for (const [at, x] of [...readNumbers(result)].entries()) {
        const wanted = Number(readNumbers(eager[i]!)[at]);
        expect(Math.abs(Number(x) - wanted)).toBeLessThan(1e-4 * (1 + Math.abs(wanted)));
      }
  });

  it('read a row that is a sum itself from memory', () => {
    const stream: Program = (x, weight, before, after) => {
      const sum = x.mm(before!).add(x);
      return [norm(sum, weight).mm(after!).add(sum)];
    };
    const made = plan(stream, given([WIDTH, WIDTH]));
    expect(made.launches).toHaveLength(2);
    expect(made.kernels.map((kernel) => kernel.params.length)).toEqual([3, 4]);
  });

  it('read a norm that has to be in memory anyway, or is of several rows', () => {
    const kept: Program = (x, weight, matrix) => [norm(x, weight), norm(x, weight).mm(matrix!)];
    const shared: Program = (x, weight, matrix) => {
      const row = norm(x, weight);
      return [row, row.mm(matrix!)];
    };
    expect(launches(shared, given([20]))).toBe(2);
    expect(launches(kept, given([20]))).toBe(2);
    expect(launches(products, given([20, 30], 'float32', 2))).toBe(3);
  });

  it('do not sum again what is added to elements, or what a row of the other operand is made of', () => {
    const centred: Program = (x, _, matrix) => [x.sub(x.mean(-1, { keepdim: true })).mm(matrix!)];
    expect(launches(centred, given([20]))).toBe(2);
    const right: Program = (x, weight, matrix) => [matrix!.t().mm(norm(x, weight).t())];
    expect(launches(right, given([20]))).toBe(2);
  });

  it('do not where a matrix is so large that a launch is nothing beside it', () => {
    const fake = (n: number): Tensor[] => [...given([]), randn([1]).expand([WIDTH, n])];
    expect(launches(products, fake(2 ** 19))).toBe(1);
    expect(launches(products, fake(2 ** 20))).toBe(2);
  });

  it('round between operators where casts are emulated', () => {
    const count = (): number => launches(products, given([20, 30]));
    expect(config.patch({ 'inductor.emulatePrecisionCasts': true }, count)).toBe(3);
  });

  it.each(['float32', 'float16', 'bfloat16'] as const)('compute what eager does in %s', (dtype) => {
    const program: Program = (x, weight, a, b, c) => {
      const row = norm(x.mul(30), weight);
      return [row.mm(a!), row.mm(b!).add(1), b!.narrow(0, 0, 1).addmm(row, c!)];
    };
    const inputs = given([20, 33, 33], dtype);
    const graph = makeFx((...args: Tensor[]) => program(...(args as [Tensor, Tensor])))(...inputs);
    const made = compileToExecutable(graph, interpreterBackend(REPEATS))(inputs) as Tensor[];
    const exact = program(...(inputs.map((x) => x.to('float64')) as [Tensor, Tensor]));
    const rounding = { float32: 1e-5, float16: 4e-3, bfloat16: 4e-2 }[dtype];
    for (const [i, result] of made.entries()) {
      const wanted = readNumbers(exact[i]!);
      for (const [at, x] of [...readNumbers(result)].entries())
        expect(Math.abs(Number(x) - Number(wanted[at]))).toBeLessThan(
          rounding * (4 + Math.abs(Number(wanted[at]))),
        );
    }
  });
});
