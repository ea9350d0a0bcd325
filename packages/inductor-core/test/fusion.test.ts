import type { Node } from '@tessera/graph';
import { describe, expect, it } from 'vitest';
import { type Tensor, full } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import {
  type ExecutionPlan,
  compileGraph,
  compileToExecutable,
  printKernel,
  verifyPlan,
} from '../src/index.js';
import { interpreterBackend } from './interpreter-backend.js';
import { GraphBuilder, target } from './graph-builder.js';

function plan(
  build: (b: GraphBuilder) => readonly Node[],
  overrides: Parameters<typeof target>[0] = {},
): ExecutionPlan {
  const b = new GraphBuilder();
  const outputs = build(b);
  const compiled = compileGraph(b.done(...outputs), { backend: target(overrides), name: 'test' });
  verifyPlan(compiled);
  return compiled;
}

function text(p: ExecutionPlan): string {
  return p.kernels.map(printKernel).join('\n');
}

describe('fusion', () => {
  it('joins a reduction with its producer and consumer, also through a transposed view', () => {
    const p = plan((b) => {
      const x = b.op('mul.Tensor', b.input([6, 8]), 2);
      return [
        b.op(
          'sub.Tensor',
          b.op('permute', x, [1, 0]),
          b.op('sum.dim_IntList', b.op('permute', x, [1, 0]), [0], true),
        ),
      ];
    });
    expect(p.launches.length).toBe(1);
  });

  it('closes no circle through a kernel that holds nodes from far apart', () => {
    const p = plan((b) => {
      const [z, r, places] = [b.input([3, 2]), b.input([3]), b.input([3], 'int64')];
      const difference = b.op('sub.Tensor', r, b.op('mean.dim', r, null));
      const advantage = b.op('div.Tensor', difference, b.op('std.correction', r, null));
      const logs = b.op('_log_softmax', z, -1, false);
      const index = b.op('unsqueeze', places, 1);
      const chosen = b.op('squeeze.dim', b.op('gather', logs, 1, index), 1);
      const loss = b.op('mean.dim', b.op('mul.Tensor', chosen, advantage), null);
      const slope = b.op('view', b.op('div.Tensor', advantage, 3), [3, 1]);
      const zeros = b.op('zeros', [3, 2], 'float32', null, 'cpu');
      const spread = b.op('scatter_add', zeros, 1, index, slope);
      return [b.op('_log_softmax_backward_data', spread, logs, -1, 'float32'), b.op('neg', loss)];
    });
    expect(p.launches.length).toBeGreaterThan(0);
  });

  it('reduces columns and feeds the result back over rows in one kernel', () => {
    const p = plan((b) => {
      const x = b.input([6, 8]);
      return [b.op('div.Tensor', x, b.op('sum.dim_IntList', x, [0], true))];
    });
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_sum_div_0(in0: f32, write out0: f32)
        for [i0:8] inner [r0:6]
        inner:
          t0: f32 = in0[8*r0 + i0]
          acc0: f32 = sum(t0)
        inner:
          t0: f32 = in0[8*r0 + i0]
          t1: f32 = t0 / acc0
          out0[8*r0 + i0] = t1"
    `);
  });

  it('keeps reductions over different dimensions apart', () => {
    const p = plan((b) => {
      const x = b.input([6, 8]);
      return [b.op('sum.dim_IntList', x, [0]), b.op('sum.dim_IntList', x, [1])];
    });
    expect(p.launches.length).toBe(2);
  });

  it('does not close a circle: a consumer of both a kernel and its consumer stays apart', () => {
    // total depends on every element of y, and z on y and total: y and z cannot share a kernel.
    const p = plan((b) => {
      const x = b.input([6, 8]);
      const y = b.op('exp', x);
      const total = b.op(
        'sum.dim_IntList',
        b.op('permute', b.op('mm', y, b.op('permute', y, [1, 0])), [1, 0]),
        null,
      );
      return [b.op('add.Tensor', y, total), y];
    });
    const order = p.launches.map((launch) => p.kernels[launch.kernel]!.name);
    expect(order.length).toBeGreaterThanOrEqual(3);
    verifyPlan(p);
  });

  it('respects the number of buffers that one kernel may have', () => {
    const build = (b: GraphBuilder): Node[] => {
      const inputs = Array.from({ length: 12 }, () => b.input([32]));
      return inputs.map((x) => b.op('add.Tensor', x, inputs[0]!));
    };
    for (const limit of [4, 8, 16]) {
      const p = plan(build, { maxBuffersPerKernel: limit });
      for (const kernel of p.kernels) expect(kernel.params.length).toBeLessThanOrEqual(limit);
    }
    expect(plan(build, { maxBuffersPerKernel: 64 }).launches.length).toBe(1);
  });

  it('joins many tensors in groups that fit into a kernel', () => {
    const build = (b: GraphBuilder): Node[] => {
      const inputs = Array.from({ length: 30 }, (_, i) => b.input([2, 1 + (i % 3)]));
      const total = inputs
        .slice(3)
        .reduce((sum, x, i) => (i % 3 === 0 ? b.op('add.Tensor', sum, x) : sum), inputs[0]!);
      return [b.op('cat', inputs, 1), total];
    };
    const b = new GraphBuilder();
    const module = b.done(...build(b));
    const call = compileToExecutable(module, interpreterBackend({ maxBuffersPerKernel: 8 }));
    for (const { params } of call.plan.kernels) expect(params.length).toBeLessThanOrEqual(8);
    const inputs = Array.from({ length: 30 }, (_, i) => full([2, 1 + (i % 3)], i + 0.5));
    const [joined, total] = call(inputs) as [Tensor, Tensor];
    const [expected, sum] = module.forward(...inputs) as [Tensor, Tensor];
    expect(Array.from(readNumbers(joined))).toEqual(Array.from(readNumbers(expected)));
    expect(Array.from(readNumbers(total))).toEqual(Array.from(readNumbers(sum)));
  });

  it('writes the equal parts of a join each to its place, in one kernel with what they share', () => {
    const p = plan((b) => {
      const x = b.input([4, 8]);
      const shared = b.op('exp', x);
      return [b.op('cat', [b.op('mul.Tensor', shared, 2), b.op('neg', shared)], 1)];
    });
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_exp_mul_neg_0(in0: f32, write out0: f32)
        for [i0:4, i1:8]
        outer:
          t0: f32 = in0[8*i0 + i1]
          t1: f32 = exp(t0)
          t2: f32 = t1 * 2
          out0[16*i0 + i1] = t2
          t4: f32 = neg(t1)
          out0[16*i0 + i1 + 8] = t4"
    `);
  });

  it('chooses by position where a join is read once, or where its parts only lie elsewhere', () => {
    const joins = (cat: (b: GraphBuilder, x: Node) => Node): number =>
      plan((b) => [cat(b, b.input([4, 8]))]).kernels.filter((kernel) =>
        printKernel(kernel).includes('where'),
      ).length;
    expect(joins((b, x) => b.op('cat', [x, b.op('slice.Tensor', x, 1, 0, 8, 1)], 1))).toBe(1);
    expect(joins((b, x) => b.op('abs', b.op('cat', [b.op('sin', x), x], 1)))).toBe(1);
    expect(joins((b, x) => b.op('cat', [b.op('sin', x), b.op('cos', x)], 1))).toBe(0);
    const empty = plan((b) => {
      const x = b.op('sin', b.input([0, 8]));
      return [b.op('cat', [x, b.op('mul.Tensor', x, 2)], 1)];
    });
    expect(empty.launches.length).toBe(0);
  });

  it('stores unequal parts of a join where kernels are cheap, each over its own extent', () => {
    const p = plan((b) => [b.op('cat', [b.input([4, 5, 8]), b.op('neg', b.input([4, 1, 8]))], 1)], {
      cheapKernels: true,
    });
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_cat_0(in0: f32, write out0: f32)
        for [i0:4, i1:40]
        outer:
          t0: f32 = in0[40*i0 + i1]
          out0[48*i0 + i1] = t0
      loop fused_neg_1(in0: f32, write out0: f32)
        for [i0:4, i1:8]
        outer:
          t0: f32 = in0[8*i0 + i1]
          t1: f32 = neg(t0)
          out0[48*i0 + i1 + 40] = t1"
    `);
  });

  it('chooses by position among unequal parts where it is better: short ones, very many, dear kernels', () => {
    const choices = (cheapKernels: boolean, dim: number, ...lengths: number[]): number => {
      const join = (b: GraphBuilder): Node => {
        const parts = lengths.map((n) => b.op('neg', b.input(dim === 1 ? [8, n] : [n, 8])));
        return b.op('cat', parts, dim);
      };
      const { kernels } = plan((b) => [join(b)], { cheapKernels });
      return kernels.filter((kernel) => printKernel(kernel).includes('where')).length;
    };
    expect(choices(true, 0, 3, 4)).toBe(0);
    expect(choices(true, 1, 30, 1)).toBe(0);
    expect(choices(false, 0, 3, 4)).toBe(1);
    expect(choices(true, 1, 3, 4)).toBe(1);
    expect(choices(true, 0, ...Array.from({ length: 9 }, (_, i) => i + 1))).toBeGreaterThan(0);
  });

  it('does not read a join in a kernel that fills a part of it', () => {
    const p = plan((b) => {
      const x = b.input([4, 8]);
      const whole = b.op('cat', [b.op('sin', x), b.op('cos', x)], 1);
      return [whole, b.op('mul.Tensor', b.op('slice.Tensor', whole, 1, 0, 8, 1), 2)];
    });
    expect(p.launches.length).toBe(2);
  });

  it('folds a cheap producer with one use into a product, and an expensive one not', () => {
    const cheap = plan((b) => [
      b.op('mm', b.op('_to_copy', b.input([8, 16], 'float16'), 'float32'), b.input([16, 4])),
    ]);
    expect(cheap.launches.length).toBe(1);
    const costly = plan((b) => [b.op('mm', b.op('exp', b.input([8, 16])), b.input([16, 4]))]);
    expect(costly.launches.length).toBe(2);
  });

  it('stores a head-splitting view of a product straight from its epilogue, without divisions', () => {
    const p = plan((b) => {
      const product = b.op('mm', b.input([24, 16]), b.input([16, 32]));
      const heads = b.op('permute', b.op('view', product, [2, 12, 4, 8]), [0, 2, 1, 3]);
      return [b.op('clone', b.op('mul.Tensor', heads, 0.5), 'contiguous')];
    });
    expect(p.launches.length).toBe(1);
    expect(text(p)).toMatchInlineSnapshot(`
      "matmul fused_mm_mul_0(in0: f32, in1: f32, write out0: f32)
        batch [] m [m0:2, m1:12] n [n0:4, n1:8] k [k0:16] acc f32
        a:
          t0: f32 = in0[192*m0 + 16*m1 + k0]
          a = t0
        b:
          t0: f32 = in1[32*k0 + 8*n0 + n1]
          b = t0
        epilogue:
          t0: f32 = acc0 * 0.5
          out0[384*m0 + 96*n0 + 8*m1 + n1] = t0"
    `);
  });

  it('splits a reduction of everything into pieces for a parallel backend', () => {
    const p = plan((b) => [b.op('sum.dim_IntList', b.input([512, 512]), null)], {
      parallelism: 8,
      splitReductionThreshold: 4096,
    });
    expect(text(p)).toMatchInlineSnapshot(`
      "loop fused_sum_0(in0: f32, write out0: f32)
        for [i0:8] inner [r0:32768]
        inner:
          t0: f32 = in0[32768*i0 + r0]
          acc0: f32 = sum(t0)
        outer:
          out0[i0] = acc0
      loop fused_sum_1(in0: f32, write out0: f32)
        for [] inner [r0:8]
        inner:
          t0: f32 = in0[r0]
          acc0: f32 = sum(t0)
        outer:
          out0[0] = acc0"
    `);
  });

  it('combines the places of pieces when it splits an argmax', () => {
    const p = plan((b) => [b.op('argmax', b.input([4096]), null)], {
      parallelism: 4,
      splitReductionThreshold: 1024,
    });
    expect(p.launches.length).toBeLessThanOrEqual(3);
  });

  it('orders loops so that stores are contiguous and merges what moves together', () => {
    const p = plan((b) => [b.op('relu', b.input([4, 5, 6], 'float32', [1, 24, 4]))]);
    expect(p.kernels[0]).toMatchObject({ outer: [{ name: 'i0', size: 120 }] });
  });

  it('puts a mutated input after all readers of its old value', () => {
    const p = plan((b) => {
      const [x, y] = [b.input([8, 8]), b.input([8, 8])];
      const product = b.op('mm', x, y);
      const next = b.op('add.Tensor', x, y);
      b.mutate(x, next);
      return [product];
    });
    const writes = p.launches.findIndex((launch) =>
      launch.buffers.some(
        (at, i) =>
          p.buffers[at]!.source.kind === 'input' &&
          p.kernels[launch.kernel]!.params[i]!.access !== 'read',
      ),
    );
    const product = p.launches.findIndex((launch) => p.kernels[launch.kernel]!.kind === 'matmul');
    expect(writes).toBeGreaterThan(product);
  });

  it('swaps two inputs through scratch memory', () => {
    const p = plan((b) => {
      const [x, y] = [b.input([8]), b.input([8])];
      b.mutate(x, b.op('mul.Tensor', y, 2));
      b.mutate(y, b.op('mul.Tensor', x, 3));
      return [];
    });
    expect(p.buffers.some((buffer) => buffer.source.kind === 'arena')).toBe(true);
  });
});
