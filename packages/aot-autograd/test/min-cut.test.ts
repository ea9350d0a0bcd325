import { config } from '@tessera/shared';
import { type Tensor, isTensor, itemSize, max, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  type MinCutOptions,
  type Partition,
  type Partitioner,
  aotFunction,
  minCutPartitioner,
  minCutRematerializationPartition,
  runEagerly,
} from '../src/index.js';
import { FlowNetwork } from '../src/partition/max-flow.js';
import { expectClose, op } from './support/compare.js';
import { PARTITION_SAMPLES, leavesOf } from './support/partition-samples.js';

/** Bytes of what a partition's backward graph reads besides tangents. */
function savedBytes({ backward, saved }: Partition): number {
  return backward.graph.placeholders
    .slice(0, saved.length)
    .map((node) => node.meta.val)
    .reduce<number>((sum, val) => sum + (isTensor(val) ? val.numel * itemSize(val.dtype) : 0), 0);
}

interface Observed {
  readonly partition: Partition;
  readonly out: unknown;
  readonly grads: unknown[];
}

/** Compiles with a partitioner, runs forward and backward. */
function observe(
  fn: (...inputs: Tensor[]) => Tensor,
  inputs: readonly Tensor[],
  partitioner: Partitioner,
): Observed {
  let partition: Partition | null = null;
  const partitionFn: Partitioner = (joint) => {
    partition = partitioner(joint);
    partition.forward.lint();
    partition.backward.lint();
    return partition;
  };
  const out = aotFunction(fn, { fwCompiler: runEagerly, partitionFn })(...inputs);
  op('sum', out.mul(out), null).backward();
  return {
    partition: partition!,
    out: out.toArray(),
    grads: inputs.map((input) => input.grad?.toArray()),
  };
}

function eagerly(fn: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[]): unknown[] {
  const out = fn(...inputs);
  op('sum', out.mul(out), null).backward();
  return [out.toArray(), inputs.map((input) => input.grad?.toArray())];
}

describe('FlowNetwork', () => {
  it('finds the flow of a network in which paths must be taken back', () => {
    const network = new FlowNetwork();
    const [s, a, b, t] = [0, 1, 2, 3].map(() => network.addVertex());
    network.addEdge(s, a, 3);
    network.addEdge(s, b, 2);
    network.addEdge(a, b, 5);
    network.addEdge(a, t, 1);
    network.addEdge(b, t, 4);
    expect(network.maxFlow(s, t)).toBe(5);
  });

  it('names the cut nearest to the sink, and says when nothing finite separates', () => {
    const network = new FlowNetwork();
    const [s, a, b, t] = [0, 1, 2, 3].map(() => network.addVertex());
    network.addEdge(s, a, 2);
    network.addEdge(a, b, 2);
    network.addEdge(b, t, Infinity);
    expect(network.maxFlow(s, t)).toBe(2);
    expect([...network.sinkSide(t)]).toEqual([0, 0, 1, 1]);
    network.addEdge(s, t, Infinity);
    expect(network.maxFlow(s, t)).toBe(Infinity);
  });

  it('takes deep networks', () => {
    const network = new FlowNetwork();
    let at = network.addVertex();
    for (let i = 0; i < 100_000; i++) {
      const next = network.addVertex();
      network.addEdge(at, next, 7 + (i % 5));
      at = next;
    }
    expect(network.maxFlow(0, at)).toBe(7);
  });
});

describe('minCutRematerializationPartition', () => {
  it.each(PARTITION_SAMPLES.map((sample) => [sample.name, sample] as const))(
    '%s saves no more bytes than PyTorch and computes the same',
    (_name, sample) => {
      const { partition, out, grads } = observe(
        sample.fn,
        leavesOf(sample),
        minCutRematerializationPartition,
      );
      expect(savedBytes(partition)).toBeLessThanOrEqual(sample.bytes);
      expectClose([out, grads], eagerly(sample.fn, leavesOf(sample)));
    },
  );

  const names = ({ backward, saved }: Partition): string[] =>
    backward.graph.placeholders.slice(0, saved.length).map((node) => node.name);
  const ops = (partition: Partition): string[] =>
    partition.backward.graph.nodes
      .filter((node) => typeof node.target === 'object')
      .map((node) => String(node.target));
  const param = (...shape: number[]): Tensor => ones(shape).requiresGrad_();
  const of = (
    fn: (...inputs: Tensor[]) => Tensor,
    inputs: Tensor[],
    options: MinCutOptions = {},
  ): Partition => observe(fn, inputs, minCutPartitioner(options)).partition;

  it('never computes products again, and saves masks rather than what they are made from', () => {
    const rectified = (x: Tensor, w: Tensor): Tensor => {
      const y = x.mm(w);
      return op(
        'where.self',
        op('gt.Scalar', y, 0),
        y,
        op('zeros_like', y, null, null, null, null, null),
      );
    };
    const partition = of(rectified, [param(4, 3), param(3, 5)]);
    expect(ops(partition).filter((name) => name.startsWith('aten.mm'))).toHaveLength(2);
    expect(names(partition)).toEqual(['x', 'w', 'gt']);
  });

  it('saves a whole value rather than all parts of it, which would be copied', () => {
    const gated = (x: Tensor, w: Tensor): Tensor => {
      const y = x.mm(w);
      return y
        .narrow(1, 0, 2)
        .t()
        .mm(y.narrow(1, 2, 2));
    };
    expect(names(of(gated, [param(4, 3), param(3, 4)]))).toEqual(['x', 'w', 'mm']);
  });

  it('saves the small result of a reduction, unless reductions may run again', () => {
    const norm = (x: Tensor): Tensor =>
      x.mul(op('rsqrt', op('mean.dim', x.mul(x), [-1], true, null).add(1e-6)));
    const cautious = of(norm, [param(8, 32)]);
    expect(ops(cautious)).not.toContain('aten.mean.dim');
    const again = of(norm, [param(8, 32)], { allow: { reductions: true } });
    expect(names(again)).toEqual(['x']);
    expect(ops(again)).toContain('aten.mean.dim');
  });

  it('computes reductions along short dimensions again, and what is made from inputs behind a product', () => {
    const peaks = (x: Tensor): Tensor => op('exp', max(op('sin', x), -1)[0]);
    const short = of(peaks, [param(16, 4)], {});
    expect(names(short)).toEqual(['x']);
    expect(ops(short)).toContain('aten.max.dim');
    expect(ops(of(peaks, [param(16, 64)], {}))).not.toContain('aten.max.dim');
    const gated = (h: Tensor, w: Tensor): Tensor => {
      const fresh = op('tanh', h.mm(w));
      return op('sigmoid', h.mm(w)).mul(h.sub(fresh));
    };
    expect(names(of(gated, [param(8, 8), param(8, 8)]))).not.toContain('sub');
  });

  it('keeps chains of recomputation short', () => {
    const long = (x: Tensor): Tensor => {
      let y = x;
      for (let i = 0; i < 250; i++) y = op('sin', y);
      return y;
    };
    expect(names(of(long, [param(4)])).length).toBeGreaterThan(1);
    expect(names(of(long, [param(4)], { allow: { longChains: true } }))).toEqual(['x']);
  });

  it('copies an input that is updated, as it was', () => {
    const pure = (x: Tensor, y: Tensor): Tensor => x.mul(op('sin', op('mul.Tensor', y, 2)));
    const fn = (x: Tensor, y: Tensor): Tensor => {
      const z = pure(x, y);
      y.add_(1);
      return z;
    };
    const make = (): Tensor[] => [param(3), ones([3])];
    const { partition, out, grads } = observe(fn, make(), minCutPartitioner());
    expectClose([out, grads], eagerly(pure, make()));
    expect(partition.saved).toContainEqual({ kind: 'output', index: expect.any(Number) as number });
  });

  it('saves a part of an intermediate as a copy of its own', () => {
    const fn = (x: Tensor, w: Tensor): Tensor => op('sin', op('slice.Tensor', x.mm(w), 0, 0, 1, 1));
    const partition = of(fn, [param(64, 4), param(4, 64)]);
    const saved = partition.backward.graph.placeholders.map(
      (node) => (node.meta.val as Tensor).sizes,
    );
    expect(saved).toEqual([
      [64, 4],
      [4, 64],
      [1, 64],
      [1, 64],
    ]);
  });

  it.each([1, 0.75, 0.5, 0.25, 0])('fits activations into the budget %d', (budget) => {
    const sizes = [16, 64, 32, 64, 16, 8];
    const fn = (x: Tensor, ...weights: Tensor[]): Tensor =>
      weights.reduce((y, w) => op('gelu', y.mm(w), 'none'), x);
    const make = (): Tensor[] => [
      param(32, 16),
      ...sizes.slice(1).map((size, i) => ones([sizes[i], size]).mul(0.01).detach().requiresGrad_()),
    ];
    const activations = (partition: Partition): number => {
      const { saved, backward } = partition;
      return saved.reduce((sum, { kind }, i) => {
        const val = backward.graph.placeholders[i].meta.val as Tensor;
        return kind === 'output' ? sum + val.numel * 4 : sum;
      }, 0);
    };
    const most = activations(of(fn, make()));
    const { partition, out, grads } = observe(
      fn,
      make(),
      minCutPartitioner({ activationMemoryBudget: budget }),
    );
    expect(activations(partition)).toBeLessThanOrEqual(budget * most);
    expectClose([out, grads], eagerly(fn, make()));
  });

  it('saves no list of views of a part of an intermediate, but what it lists or lists from', () => {
    const fn = (x: Tensor, w: Tensor): Tensor => {
      const [a, b] = x.mm(w).narrow(0, 0, 2).unbind(1);
      return a!.mul(b!);
    };
    const make = (): Tensor[] => [param(3, 4), param(4, 2)];
    const { partition, out, grads } = observe(fn, make(), minCutRematerializationPartition);
    const [, , ...parts] = partition.backward.graph.placeholders.slice(0, partition.saved.length);
    const elements = parts.reduce((sum, { meta }) => sum + (meta.val as Tensor).numel, 0);
    expect(elements).toBe(4);
    expectClose([out, grads], eagerly(fn, make()));
  });

  it('reads its limits from the configuration', () => {
    const fn = (x: Tensor, w: Tensor): Tensor => op('sin', x.mm(w));
    const inputs = (): Tensor[] => [param(4, 3), param(3, 4)];
    const budget = (value: number): string[] =>
      config.patch({ 'aot.activationMemoryBudget': value }, () =>
        names(observe(fn, inputs(), minCutRematerializationPartition).partition),
      );
    expect(budget(1)).toContain('mm');
    expect(budget(0)).toEqual(['x', 'w']);
  });

  it('computes reductions and values read far apart again where the configuration lets it', () => {
    const reduced = (x: Tensor): Tensor => op('sin', x.mul(x).sum(1)).mul(2).exp();
    const apart = (x: Tensor, w: Tensor): Tensor => {
      const h = op('sin', x);
      return h.mul(2).mm(w).mul(op('exp', h));
    };
    const saved = (
      fn: typeof apart,
      make: () => Tensor[],
      settings: Readonly<Record<string, unknown>>,
    ): number => {
      const inputs = make();
      const { partition, out, grads } = config.patch(settings, () =>
        observe(fn, inputs, minCutRematerializationPartition),
      );
      expectClose([out, grads], eagerly(fn, make()));
      return partition.saved.filter(({ kind }) => kind === 'output').length;
    };
    const wide = (): Tensor[] => [param(3, 64)];
    const square = (): Tensor[] => [param(4, 4), param(4, 4)];
    expect([
      saved(reduced, wide, {}),
      saved(reduced, wide, { 'aot.recomputeReductions': true }),
      saved(apart, square, {}),
      saved(apart, square, { 'aot.recomputeFarApart': true }),
    ]).toEqual([1, 0, 3, 2]);
  });
});
