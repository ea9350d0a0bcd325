import { makeFx } from '@tessera/graph';
import { type Tensor, manualSeed, randint, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type CompileTarget,
  compileGraph,
  compileToExecutable,
  type ExecutionPlan,
  type LoopKernel,
  planFromJson,
  planToJson,
  printKernel,
  verifyKernel,
} from '../src/index.js';
import { target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

type Fn = (...inputs: Tensor[]) => Tensor;

const COMBINES = { combines: true } as const;
const ROWS = 20_000;

function planOf(
  fn: Fn,
  inputs: Tensor[],
  backend: CompileTarget = target(COMBINES),
): ExecutionPlan {
  return compileGraph(makeFx(fn)(...inputs), { backend });
}

/** Kernels with inner loops: results that look at sources, or sums of them. */
function searches({ kernels }: ExecutionPlan): number {
  return kernels.filter((kernel) => kernel.kind === 'loop' && kernel.inner.length > 0).length;
}

const added: Fn = (x, at, from) => x.scatterAdd(0, at, from);
const put: Fn = (x, at, from) => x.scatter(0, at, from);
const rowsPut: Fn = (x, at, from) => x.indexPut([at], from);

function given(): [Tensor, Tensor, Tensor] {
  manualSeed(3);
  return [randn([ROWS]), randint(0, ROWS, [500]), randn([500])];
}

describe('stores that combine', () => {
  it('add each source where it goes: one kernel copies, the other adds', () => {
    const plan = planOf(added, given());
    expect(plan.kernels).toHaveLength(2);
    expect(searches(plan)).toBe(0);
    expect(printKernel(plan.kernels[1]!)).toMatch(/out0\[.*\] \+= /);
  });

  it('find the last source of each place, which is put by the kernel that reads it', () => {
    const plan = planOf(put, given());
    expect(plan.kernels).toHaveLength(3);
    expect(searches(plan)).toBe(0);
    expect(printKernel(plan.kernels[1]!)).toMatch(/out0\[.*\] max= /);
  });

  it('are not made where looking is fast, where many sources have one place, or where the backend has none', () => {
    const [x, at, from] = given();
    expect(searches(planOf(added, [x.narrow(0, 0, 40), at.remainder(40), from]))).toBe(1);
    const many = randint(0, 10, [2 ** 20]);
    expect(searches(planOf(added, [randn([10]), many, randn([2 ** 20])]))).toBe(1);
    expect(searches(planOf(added, [x, at, from], target()))).toBe(1);
  });

  it('make no index_put compare all elements with all', () => {
    const inputs = [randn([ROWS, 64]), randint(0, ROWS, [100]), randn([100, 64])];
    expect(searches(planOf(rowsPut, inputs))).toBe(0);
  });

  it.each([
    ['scatter_add', added],
    ['scatter', put],
    ['index_put', rowsPut],
  ])('%s gives what eager gives, also of a plan that was written down', (_, fn) => {
    const inputs = given();
    const backend = interpreterBackend(COMBINES);
    const plan = planOf(fn, inputs);
    const read = planFromJson(planToJson(plan));
    expect(read.kernels.map((kernel) => printKernel(kernel))).toEqual(
      plan.kernels.map((kernel) => printKernel(kernel)),
    );
    const [result] = compileToExecutable(makeFx(fn)(...inputs), backend)(inputs) as Tensor[];
    const expected = readNumbers(fn(...inputs));
    readNumbers(result!).forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 5));
  });

  it('are refused beside other accesses of their buffer, and of types that do not combine', () => {
    const kernel = planOf(added, given()).kernels[1] as LoopKernel;
    const [stage] = kernel.stages;
    const [store] = stage!.body;
    const withBody = (body: LoopKernel['stages'][0]['body']): LoopKernel => ({
      ...kernel,
      stages: [{ ...stage!, body }],
    });
    expect(() => verifyKernel(kernel)).not.toThrow();
    expect(() => verifyKernel(withBody([store!, store!]))).toThrow(/accessed where points meet/);
    const ofMaxima = { ...store!, combine: 'max' } as typeof store;
    expect(() => verifyKernel(withBody([ofMaxima!]))).toThrow(/a max of float32 is stored/);
  });
});

describe('the first places of long rows', () => {
  const shapesOf = (fn: Fn, x: Tensor): number[] =>
    planOf(fn, [x]).kernels.flatMap((kernel) =>
      kernel.kind === 'loop' ? [kernel.outer.reduce((all, { size }) => all * size, 1)] : [],
    );

  it('are merged in blocks that do not grow: each round has half the points of the one before', () => {
    const points = shapesOf((x) => x.topk(5)[0], randn([2048]));
    expect(points).toEqual([2048, 2048, 1024, 512, 256, 128, 64, 5]);
  });
});
