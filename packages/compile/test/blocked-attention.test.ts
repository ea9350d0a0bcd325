/**
 * @file Attention in blocks on the CPU through `compile`: values of all options, memory by length, one code for all lengths.
 */
import { readNumbers } from '@tessera/tensor/internal';
import { scaledDotProductAttention } from '@tessera/nn/functional';
import { type DType, type Tensor, cpuHeap, manualSeed, randn, softmax } from '@tessera/tensor';
import { describe, expect, it, vi } from 'vitest';
import { compile, observeCompilations } from '../src/node.js';

/** One way to call attention. Sizes are large enough for blocks to pay. */
interface Options {
  readonly dtype?: DType;
  readonly batch?: number;
  readonly heads?: number;
  readonly keyHeads?: number;
  readonly length?: number;
  readonly keys?: number;
  readonly width?: number;
  readonly isCausal?: boolean;
  /** A float mask of a soft bound or window, or places that are seen. */
  readonly mask?: 'float' | 'bool' | 'row' | 'head' | 'window';
  readonly scale?: number;
}

const GRID: readonly Options[] = [
  {},
  { isCausal: true },
  { isCausal: true, length: 300, keys: 131 },
  { isCausal: true, length: 130, keys: 290 },
  { keyHeads: 2 },
  { keyHeads: 1, isCausal: true, batch: 8 },
  { mask: 'float' },
  { mask: 'bool', keys: 201 },
  { mask: 'row' },
  { mask: 'head' },
  { mask: 'window' },
  { scale: -0.3 },
  { width: 5 },
  { width: 80, length: 130, keys: 140 },
  { dtype: 'float64', isCausal: true },
  { dtype: 'float16', isCausal: true },
  { dtype: 'bfloat16', mask: 'bool' },
  { batch: 1, heads: 2, keyHeads: 2, length: 400, keys: 400, isCausal: true },
];

/** Largest difference of what is about 1. */
const TOLERANCE: Partial<Record<DType, number>> = { float64: 1e-11, float16: 1e-2, bfloat16: 8e-2 };

interface Call {
  readonly inputs: readonly [query: Tensor, key: Tensor, value: Tensor, grad: Tensor];
  readonly mask: Tensor | null;
}

function callOf(options: Options): Call {
  const { dtype = 'float32', batch = 2, heads = 4, keyHeads = heads, mask } = options;
  const { length = 200, keys = length, width = 16 } = options;
  manualSeed(7);
  const make = (count: number, lines: number): Tensor =>
    randn([batch, count, lines, width]).to(dtype);
  const inputs = [
    make(heads, length),
    make(keyHeads, keys),
    make(keyHeads, keys),
    make(heads, length),
  ] as const;
  const masks: Readonly<Record<NonNullable<Options['mask']>, () => Tensor>> = {
    float: () => randn([length, keys]).to(dtype),
    bool: () => randn([batch, 1, length, keys]).gt(0.6),
    row: () => randn([batch, 1, 1, keys]).gt(0),
    head: () => randn([1, heads, length, keys]).gt(0),
    window: () => randn([length, keys]).abs().lt(9).tril(20).triu(-20),
  };
  return { inputs, mask: mask === undefined ? null : masks[mask]() };
}

/** The result and its gradients in float64, written out. */
function written({ inputs, mask }: Call, options: Options): Tensor[] {
  const [query, key, value, grad] = inputs.map((x) => x.to('float64').detach());
  for (const x of [query, key, value]) x!.requiresGrad = true;
  const group = query!.shape[1]! / key!.shape[1]!;
  const [keys, values] = [key!, value!].map((x) => x.repeatInterleave(group, 1));
  const scale = options.scale ?? 1 / Math.sqrt(query!.shape[3]!);
  let scores = query!.matmul(keys!.transpose(-2, -1)).mul(scale);
  if (options.isCausal === true)
    scores = scores.maskedFill(scores.detach().mul(0).add(1).triu(1).bool(), -Infinity);
  if (mask !== null)
    scores =
      mask.dtype === 'bool' ? scores.maskedFill(mask.logicalNot(), -Infinity) : scores.add(mask);
  const hidden = scores.eq(-Infinity).all(-1, { keepdim: true });
  const weights = softmax(scores.maskedFill(hidden, 0), -1).maskedFill(hidden, 0);
  const out = weights.matmul(values!);
  out.backward(grad!);
  return [out.detach(), ...[query, key, value].map((x) => x!.grad!)];
}

function compiled({ inputs, mask }: Call, { isCausal = false, scale }: Options): Tensor[] {
  const [query, key, value] = inputs.map((x) => x.detach());
  for (const x of [query, key, value]) x!.requiresGrad = true;
  const run = compile((q: Tensor, k: Tensor, v: Tensor, attnMask: Tensor | null) =>
    scaledDotProductAttention(q, k, v, {
      attnMask,
      isCausal,
      scale: scale ?? null,
      enableGqa: true,
    }),
  );
  const out = run(query!, key!, value!, mask);
  out.backward(inputs[3]);
  return [out.detach(), ...[query, key, value].map((x) => x!.grad!)];
}

/** Kinds of the kernels that `run` compiles. */
function kindsOf(run: () => void): string[] {
  const kinds: string[] = [];
  const stop = observeCompilations((_graph, { plan }) => {
    for (const { kernel } of plan.launches) kinds.push(plan.kernels[kernel]!.kind);
  });
  run();
  stop();
  return kinds;
}

/** Live bytes at the highest beyond those before. */
function peakOf(run: () => void): number {
  const { liveBytes } = cpuHeap().stats();
  cpuHeap().resetPeak();
  run();
  return cpuHeap().stats().peakBytes - liveBytes;
}

describe('attention in blocks', () => {
  it.each(GRID)('computes what is written out: %o', (options) => {
    const call = callOf(options);
    const wanted = written(call, options);
    const got = compiled(call, options);
    const tolerance = TOLERANCE[options.dtype ?? 'float32'] ?? 2e-5;
    for (const [i, result] of got.entries()) {
      const [a, w] = [result, wanted[i]!].map((x) => readNumbers(x));
      for (const [at, x] of a!.entries()) {
        const isNear = Math.abs(x - w![at]!) <= tolerance * (1 + Math.abs(w![at]!));
        if (!isNear) expect(x, `result ${i} at ${at}`).toBe(w![at]);
      }
    }
  });

  it('is one kernel forward, and one backward for enough heads', () => {
    const options = { batch: 2, heads: 4, isCausal: true };
    const call = callOf(options);
    const kinds = kindsOf(() => compiled(call, options));
    expect(kinds.filter((kind) => kind === 'attention')).toHaveLength(2);
    expect(kinds).not.toContain('matmul');
  });

  it('leaves short ones, and single queries, to products', () => {
    for (const sizes of [
      { length: 32, keys: 32 },
      { length: 1, keys: 4096 },
    ]) {
      const call = callOf(sizes);
      expect(kindsOf(() => compiled(call, sizes))).not.toContain('attention');
    }
  });

  it.each([
    { heads: 8, isCausal: false },
    { heads: 8, isCausal: true },
    { heads: 2, isCausal: true },
  ])('takes memory by the length, forward and backward: %o', ({ heads, isCausal }) => {
    const peaks = (length: number): { forward: number; both: number } => {
      manualSeed(3);
      const tensors = Array.from({ length: 4 }, () => randn([1, heads, length, 8]));
      const [q, k, v, grad] = tensors as [Tensor, Tensor, Tensor, Tensor];
      const attend = compile((...[a, b, c]: [Tensor, Tensor, Tensor]) =>
        scaledDotProductAttention(a, b, c, { isCausal }),
      );
      const forward = (): Tensor => attend(q, k, v);
      forward().dispose();
      const alone = peakOf(() => forward().dispose());
      for (const x of [q, k, v]) x.requiresGrad = true;
      const train = (): void => {
        const out = forward();
        out.backward(grad);
        for (const x of [q, k, v]) {
          x.grad!.dispose();
          x.grad = null;
        }
        out.dispose();
      };
      train();
      return { forward: alone, both: peakOf(train) };
    };
    const [short, long] = [peaks(1024), peaks(2048)];
    // Scores alone would take four times as much, and more than that at all.
    expect(long.forward).toBeLessThan(2.1 * short.forward);
    expect(long.both).toBeLessThan(2.1 * short.both);
    expect(long.both).toBeLessThan(heads * 2048 * 8 * 4 * 16);
  });

  it('has one code for prompts of any length over a cache that grows', () => {
    const run = compile(
      (q: Tensor, k: Tensor, v: Tensor) => scaledDotProductAttention(q, k, v, { isCausal: true }),
      { dynamic: true },
    );
    const modules: number[] = [];
    for (const [length, keys] of [
      [40, 40],
      [64, 64],
      [17, 200],
      [130, 131],
      [300, 300],
      [2, 9],
      [400, 500],
    ] as const) {
      manualSeed(length);
      const [q, k, v] = [length, keys, keys].map((lines) => randn([1, 2, lines, 8]));
      const made = vi.spyOn(WebAssembly, 'Module');
      const out = run(q!, k!, v!);
      modules.push(made.mock.calls.length);
      made.mockRestore();
      const [wanted] = written({ inputs: [q!, k!, v!, q!], mask: null }, { isCausal: true });
      const [a, w] = [out, wanted!].map((x) => readNumbers(x));
      for (const [at, x] of a!.entries()) expect(x).toBeCloseTo(w![at]!, 4);
    }
    // At first both are numbers, then equal to each other; then there is one code for all.
    expect(modules[0]).toBeGreaterThan(0);
    expect(modules.slice(4)).toEqual([0, 0, 0]);
  });
});
