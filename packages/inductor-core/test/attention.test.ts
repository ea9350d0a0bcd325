import type { GraphModule, Node } from '@tessera/graph';
import { type Tensor, callOp, getOp, manualSeed, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type AttentionKernel,
  AttentionKernels,
  type Capabilities,
  compileGraph,
  compileToExecutable,
  planFromJson,
  planToJson,
  printKernel,
  verifyKernel,
} from '../src/index.js';
import {
  attentionGraph,
  BACKWARD,
  BATCH,
  CASES,
  type Case,
  FORWARD,
  WIDTH,
} from './attention-graph.js';
import { GraphBuilder, target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

function inputs({ heads, keyHeads, length, keys, mask, width = WIDTH }: Case): Tensor[] {
  manualSeed(5);
  const query = (): Tensor => randn([BATCH, heads, length, width]);
  const key = (): Tensor => randn([BATCH, keyHeads, keys, width]);
  const scores = randn([length, keys]);
  return [
    ...[query(), key(), key(), query()],
    ...(mask === undefined ? [] : [mask === 'bool' ? scores.gt(0.4) : scores]),
  ];
}

function eager(item: Case, [query, key, value, grad, mask]: readonly Tensor[]): Tensor[] {
  const rest = [0, item.causal === true, mask ?? null, null];
  const [out, sums] = callOp(getOp(`aten::${FORWARD}`), [query!, key!, value!, ...rest]) as [
    Tensor,
    Tensor,
  ];
  const grads = callOp(getOp(`aten::${BACKWARD}`), [
    grad!,
    query!,
    key!,
    value!,
    out,
    sums,
    ...rest,
  ]);
  return [out, sums, ...(grads as Tensor[])];
}

function plan(
  item: Case,
  overrides: Partial<Capabilities> = { attention: new AttentionKernels({ widest: 64 }) },
) {
  return compileGraph(attentionGraph(item), { backend: target(overrides), name: 'attention' });
}

function attentionKernels(item: Case, overrides?: Partial<Capabilities>): AttentionKernel[] {
  return plan(item, overrides).kernels.filter((kernel) => kernel.kind === 'attention');
}

describe('attention kernels', () => {
  for (const item of CASES) {
    it(`compute what eager does: ${JSON.stringify(item)}`, () => {
      const given = inputs(item);
      const wanted = eager(item, given);
      for (const maxBuffersPerKernel of [64, 8]) {
        const backend = interpreterBackend({
          attention: new AttentionKernels({ widest: 64 }),
          maxBuffersPerKernel,
        });
        const results = compileToExecutable(attentionGraph(item), backend)(given) as Tensor[];
        for (const [i, result] of results.entries()) {
          const [a, w] = [result, wanted[i]!].map((x) => Array.from(readNumbers(x)));
          for (const [at, x] of a!.entries()) {
            if (x !== w![at]) expect(x, `result ${i} at ${at}`).toBeCloseTo(w![at]!, 5);
          }
        }
      }
    });
  }

  it('keep nothing of the size of the scores in memory', () => {
    const item: Case = { heads: 4, keyHeads: 4, length: 512, keys: 512, causal: true };
    const most = (overrides?: Partial<Capabilities>): number =>
      Math.max(...plan(item, overrides).buffers.map(({ numel }) => numel));
    expect(most()).toBe(BATCH * 4 * 512 * WIDTH);
    expect(most({})).toBe(BATCH * 4 * 512 * 512);
  });

  it('store gradients where they are wanted: in the memory order of the operator, without copies', () => {
    for (const item of CASES) {
      const { kernels, launches, buffers } = plan(item);
      const made = launches.flatMap(({ kernel, buffers: bound }) => {
        const { kind, params } = kernels[kernel]!;
        return kind === 'attention' ? bound.filter((_, i) => params[i]!.access !== 'read') : [];
      });
      const sums = BATCH * item.heads * item.length;
      const wanted = buffers.flatMap(({ source, numel }, i) =>
        source.kind === 'output' && numel !== sums ? [i] : [],
      );
      // The result and three gradients.
      expect(wanted).toHaveLength(4);
      expect(made).toEqual(expect.arrayContaining(wanted));
    }
  });

  it('are not made for devices without them, for few rows and for wide heads', () => {
    const item = CASES[0]!;
    expect(attentionKernels(item)).toHaveLength(3);
    expect(attentionKernels(item, {})).toEqual([]);
    expect(
      attentionKernels(item, { attention: new AttentionKernels({ widest: WIDTH - 1 }) }),
    ).toEqual([]);
    expect(attentionKernels({ ...item, length: 4 })).toEqual([]);
  });

  describe('of few rows', () => {
    const fewRows = { rows: 2, keys: 30 };
    const few = (widest: number): Partial<Capabilities> => ({
      attention: new AttentionKernels({ widest, fewRows }),
    });
    const FEW = few(64);
    const item: Case = { heads: 4, keyHeads: 2, length: 1, keys: 30, mask: 'float32' };
    /** The forward of queries that are computed first. */
    const decode = (given: Case, output: (b: GraphBuilder, made: Node) => Node[]): GraphModule => {
      const b = new GraphBuilder();
      const query = b.input([BATCH, given.heads, given.length, WIDTH]);
      const turned = b.op('mul.Tensor', query, b.input([WIDTH]));
      const [key, value] = [0, 1].map(() => b.input([BATCH, given.keyHeads, given.keys, WIDTH]));
      const mask = b.input([given.length, given.keys]);
      const made = b.op(FORWARD, turned, key!, value!, 0, false, mask, null);
      return b.done(...output(b, made));
    };
    const launches = (given: Case, overrides: Partial<Capabilities> = FEW): string[] => {
      const made = compileGraph(
        decode(given, (b, node) => [b.item(node, 0)]),
        { backend: target(overrides) },
      );
      return made.launches.map(({ kernel }) => made.kernels[kernel]!.kind);
    };

    it('are one kernel together with what computes the query, where the device says so', () => {
      expect(launches(item)).toEqual(['attention']);
      expect(launches({ ...item, length: 2 })).toEqual(['attention']);
      expect(launches({ ...item, length: 3 })).not.toContain('attention');
      expect(launches({ ...item, keys: 31 })).not.toContain('attention');
      expect(launches(item, few(WIDTH - 1))).not.toContain('attention');
      expect(launches(item, { attention: new AttentionKernels({ widest: 64 }) })).not.toContain(
        'attention',
      );
    });

    it('give the query memory where it would take too many buffers', () => {
      expect(launches(item, { ...FEW, maxBuffersPerKernel: 6 })).toEqual(['loop', 'attention']);
      expect(launches(item, { ...FEW, maxBuffersPerKernel: 5 })).not.toContain('attention');
    });

    it('compute what eager does', () => {
      manualSeed(6);
      const [query, factor] = [randn([BATCH, 4, 1, WIDTH]), randn([WIDTH])];
      const [key, value] = [0, 1].map(() => randn([BATCH, 2, 30, WIDTH]));
      const mask = randn([1, 30]);
      const graph = decode(item, (b, node) => [b.item(node, 0), b.item(node, 1)]);
      const made = compileToExecutable(
        graph,
        interpreterBackend(FEW),
      )([...[query, factor, key!, value!, mask]]) as Tensor[];
      const wanted = callOp(getOp(`aten::${FORWARD}`), [
        ...[query.mul(factor), key!, value!, 0, false, mask, null],
      ]) as Tensor[];
      for (const [i, result] of made.entries())
        for (const [at, x] of [...readNumbers(result)].entries())
          expect(x).toBeCloseTo(Number(readNumbers(wanted[i]!)[at]), 5);
    });
  });

  describe('that keep gradients of scores', () => {
    const attention = new AttentionKernels({ widest: 64, keepsWeights: () => true });

    it.each(CASES)('compute what eager does: %o', (item) => {
      const given = inputs(item);
      const wanted = eager(item, given);
      const graph = attentionGraph(item);
      const results = compileToExecutable(
        graph,
        interpreterBackend({ attention }),
      )(given) as Tensor[];
      for (const [i, result] of results.entries()) {
        const [a, w] = [result, wanted[i]!].map((x) => Array.from(readNumbers(x)));
        for (const [at, x] of a!.entries())
          if (x !== w![at]) expect(x, `result ${i} at ${at}`).toBeCloseTo(w![at]!, 5);
      }
    });

    it('make scores once: the gradient of the query reads what those of key and value store', () => {
      const item = CASES[2]!;
      const made = plan(item, { attention });
      expect(planFromJson(planToJson(made))).toEqual(made);
      const kernels = made.kernels.filter((kernel) => kernel.kind === 'attention');
      expect(kernels.map(({ scores }) => scores.length)).toEqual([1, 2, 0]);
      expect(kernels.map(({ weightStores }) => weightStores.length)).toEqual([0, 1, 0]);
      expect(printKernel(kernels[1]!)).toContain('  weights:\n    out2[');
      expect(printKernel(kernels[2]!)).toMatchInlineSnapshot(`
        "attention fused_scaled_dot_product_flash_attention_for_cpu_backward_3(in0: f32, in1: f32, write out0: f32)
          batch [b0:2, b1:4] m [m0:16] j [j0:17] k [k0:6] n [n0:6] acc f32 lower triangle
          weight0:
            t0: i32 = index(j0)
            t1: i32 = index(m0)
            t2: bool = t0 <= t1
            t3: f32 = in0[1088*b0 + 272*b1 + 17*m0 + j0]
            t4: f32 = where(t2, t3, 0)
            weight0 = t4
          value0:
            t0: f32 = in1[204*b0 + 102*(b1 div 2) + 6*j0 + n0]
            value0 = t0
          epilogue:
            out0[384*b0 + 24*m0 + 6*b1 + n0] = acc0"
      `);
      for (const kernel of kernels) verifyKernel(kernel);
      const sooner = { ...kernels[1]!, softmax: true, weights: [kernels[1]!.weights[1]!] };
      expect(() => verifyKernel({ ...sooner, values: [sooner.values[0]!], epilogue: [] })).toThrow(
        'weights of a softmax are not known before the end of their row',
      );
    });

    it('where the device has memory for so many, and binds a buffer more', () => {
      const item = CASES[2]!;
      const asked: number[][] = [];
      const keepsWeights = (...of: number[]): boolean => asked.push(of) > 1;
      const some = new AttentionKernels({ widest: 64, keepsWeights });
      expect(attentionKernels(item, { attention: some }).at(-1)!.scores).toHaveLength(2);
      expect(attentionKernels(item, { attention: some }).at(-1)!.scores).toHaveLength(0);
      const call = [BATCH * 4 * 16 * 17, WIDTH];
      expect(asked).toEqual([call, call]);
      expect(attentionKernels(item, { attention, maxBuffersPerKernel: 8 })).toHaveLength(3);
      expect(
        attentionKernels(item, { attention, maxBuffersPerKernel: 8 }).some(
          ({ weightStores }) => weightStores.length > 0,
        ),
      ).toBe(false);
    });
  });

  describe('that sum columns', () => {
    const attention = new AttentionKernels({ widest: 64, sumsColumns: () => true });

    it.each(CASES.map((item) => ({ ...item, width: 8 })))('compute what eager does: %o', (item) => {
      const given = inputs(item);
      const wanted = eager(item, given);
      const graph = attentionGraph(item);
      const results = compileToExecutable(
        graph,
        interpreterBackend({ attention }),
      )(given) as Tensor[];
      for (const [i, result] of results.entries()) {
        const [a, w] = [result, wanted[i]!].map((x) => Array.from(readNumbers(x)));
        for (const [at, x] of a!.entries())
          if (x !== w![at]) expect(x, `result ${i} at ${at}`).toBeCloseTo(w![at]!, 5);
      }
    });

    it('make all gradients in one kernel, which comes back from JSON and prints', () => {
      const item = { ...CASES[2]!, width: 8 };
      const made = plan(item, { attention });
      expect(planFromJson(planToJson(made))).toEqual(made);
      const kernels = made.kernels.filter((kernel) => kernel.kind === 'attention');
      expect(kernels.map(({ columnSums }) => columnSums.length)).toEqual([0, 1]);
      expect(printKernel(kernels[1]!)).toMatchInlineSnapshot(`
        "attention fused_scaled_dot_product_flash_attention_for_cpu_backward_2(in0: f32, in1: f32, in2: f32, in3: f32, in4: f32, in5: f32, write out0: f32, write out1: f32, write out2: f32)
          batch [b0:2, b1:2] m [m0:17] j [j0:2, j1:16] k [k0:8] n [n0:8] acc f32 upper triangle
          a0:
            t0: f32 = in0[272*b0 + 136*b1 + 8*m0 + k0]
            a0 = t0
          b0:
            t0: f32 = in1[512*b0 + 256*b1 + 128*j0 + 8*j1 + k0]
            b0 = t0
          a1:
            t0: f32 = in2[272*b0 + 136*b1 + 8*m0 + k0]
            a1 = t0
          b1:
            t0: f32 = in3[512*b0 + 256*b1 + 128*j0 + 8*j1 + k0]
            b1 = t0
          weight0:
            t0: f32 = in4[64*b0 + 32*b1 + 16*j0 + j1]
            t1: bool = t0 == -Infinity
            t2: i32 = index(m0)
            t3: i32 = index(j1)
            t4: bool = t2 <= t3
            t5: f32 = acc0 * 0.3535533845424652
            t6: f32 = where(t4, t5, -Infinity)
            t7: f32 = t6 - t0
            t8: f32 = exp(t7)
            t9: f32 = where(t1, 0, t8)
            weight0 = t9
          weight1:
            t0: f32 = in4[64*b0 + 32*b1 + 16*j0 + j1]
            t1: bool = t0 == -Infinity
            t2: i32 = index(m0)
            t3: i32 = index(j1)
            t4: bool = t2 <= t3
            t5: f32 = acc0 * 0.3535533845424652
            t6: f32 = where(t4, t5, -Infinity)
            t7: f32 = t6 - t0
            t8: f32 = exp(t7)
            t9: f32 = where(t1, 0, t8)
            t10: f32 = in5[64*b0 + 32*b1 + 16*j0 + j1]
            t11: f32 = acc1 - t10
            t12: f32 = t9 * t11
            t13: f32 = t12 * 0.3535533845424652
            weight1 = t13
          value0:
            t0: f32 = in3[512*b0 + 256*b1 + 128*j0 + 8*j1 + n0]
            value0 = t0
          value1:
            t0: f32 = in1[512*b0 + 256*b1 + 128*j0 + 8*j1 + n0]
            value1 = t0
          sum0 of weight1:
            t0: f32 = in0[272*b0 + 136*b1 + 8*m0 + n0]
            sum0 of weight1 = t0
          epilogue:
            out0[272*b0 + 16*m0 + 8*b1 + n0] = acc0
            out1[272*b0 + 16*m0 + 8*b1 + n0] = acc1
          columns:
            out2[512*b0 + 32*j1 + 16*b1 + 8*j0 + n0] = acc0"
      `);
      verifyKernel(kernels[1]!);
      const [sum] = kernels[1]!.columnSums;
      const without = { ...kernels[1]!, columnSums: [{ ...sum!, weight: 2 }] };
      expect(() => verifyKernel(without)).toThrow('a column sums up weights that there are not');
    });

    it('are not made for heads that are no whole vectors', () => {
      expect(attentionKernels(CASES[0]!, { attention })).toHaveLength(3);
    });
  });

  it('are made where they pay', () => {
    const seen: unknown[] = [];
    const pays = (work: { readonly made: string }): boolean => {
      seen.push(work);
      return work.made === 'forward';
    };
    const item = CASES[2]!;
    expect(
      attentionKernels(item, { attention: new AttentionKernels({ widest: 64, pays }) }),
    ).toHaveLength(1);
    const work = { heads: BATCH * 4, rows: 16, keys: 17, isCausal: true };
    expect(seen).toEqual([
      { ...work, made: 'forward' },
      { ...work, made: 'gradients' },
    ]);
  });

  it('split the gradients of key and value where a device binds too few buffers', () => {
    const item = CASES[3]!;
    expect(attentionKernels(item)).toHaveLength(3);
    const split = attentionKernels(item, {
      attention: new AttentionKernels({ widest: 64 }),
      maxBuffersPerKernel: 8,
    });
    expect(split.map(({ params }) => params.length)).toEqual([6, 8, 6, 8]);
  });

  it('print, and come back from JSON', () => {
    const made = plan(CASES[1]!);
    expect(planFromJson(planToJson(made))).toEqual(made);
    const [forward] = made.kernels.filter((kernel) => kernel.kind === 'attention');
    expect(printKernel(forward!)).toMatchInlineSnapshot(`
      "attention fused_scaled_dot_product_flash_attention_for_cpu_0(in0: f32, in1: f32, in2: f32, write out0: f32, write out1: f32)
        batch [b0:2, b1:2] m [m0:18] j [j0:18] k [k0:6] n [n0:6] acc f32 lower triangle softmax
        a0:
          t0: f32 = in0[216*b0 + 108*b1 + 6*m0 + k0]
          a0 = t0
        b0:
          t0: f32 = in1[216*b0 + 108*b1 + 6*j0 + k0]
          b0 = t0
        weight0:
          t0: i32 = index(j0)
          t1: i32 = index(m0)
          t2: bool = t0 <= t1
          t3: f32 = acc0 * 0.40824830532073975
          t4: f32 = where(t2, t3, -Infinity)
          weight0 = t4
        value0:
          t0: f32 = in2[216*b0 + 108*b1 + 6*j0 + n0]
          value0 = t0
        epilogue:
          out0[216*b0 + 108*b1 + 6*m0 + n0] = acc0
        rows:
          out1[36*b0 + 18*b1 + m0] = acc0"
    `);
  });

  it('are refused where they are malformed', () => {
    const [kernel] = attentionKernels(CASES[1]!) as [AttentionKernel];
    const wrong: readonly [Partial<AttentionKernel>, RegExp][] = [
      [{ m: [] }, /triangle|not in scope/],
      [{ values: [] }, /weights are for/],
      [{ softmax: false }, /only a softmax/],
      [{ scores: [] }, /acc 0 is read before/],
      [{ accDtype: 'float64' }, /cast to the accumulator|no float32/],
      [{ params: kernel.params.map((p) => ({ ...p, access: 'readwrite' as const })) }, /both read/],
    ];
    for (const [change, message] of wrong)
      expect(() => verifyKernel({ ...kernel, ...change })).toThrow(message);
  });
});
