/**
 * @file Collectives in graphs: kept, in order, started early, waited for late, differentiated.
 */
import { compile } from '@tessera/compile';
import { type Tensor, callOp, cpuHeap, getOp, manualSeed, randn, tensor } from '@tessera/tensor';
import { beforeEach, describe, expect, test } from 'vitest';
import { functionalCollectives as fc } from '../src/index.js';
import { launchesOf } from './launches.js';
import { type Mirror, mirrorGroup } from './mirror.js';

let mirror: Mirror;

beforeEach(() => {
  manualSeed(1);
  mirror = mirrorGroup(2);
});

describe('eager', () => {
  test('all_reduce gives a new tensor and leaves its input', () => {
    const x = tensor([1, 2, 3]);
    const y = fc.allReduce(x);
    expect(y.toArray()).toEqual([2, 4, 6]);
    expect(x.toArray()).toEqual([1, 2, 3]);
  });

  test('gathers and scatters along any dimension', () => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    expect(fc.allGatherTensor(x, { gatherDim: 1 }).toArray()).toEqual([
      [1, 2, 1, 2],
      [3, 4, 3, 4],
    ]);
    expect(fc.reduceScatterTensor(x, { op: 'sum', scatterDim: 1 }).toArray()).toEqual([[2], [6]]);
    expect(() => fc.reduceScatterTensor(tensor([1, 2, 3]))).toThrow(
      /does not divide by the 2 ranks/,
    );
  });

  test('gradients: of a sum the sum, of a gathering the scattered sum', () => {
    const x = tensor([1, 2, 3], { requiresGrad: true });
    fc.allReduce(x)
      .mul(tensor([1, 10, 100]))
      .sum()
      .backward();
    expect(x.grad!.toArray()).toEqual([2, 20, 200]);
    const y = tensor([1, 2], { requiresGrad: true });
    fc.allGatherTensor(y)
      .mul(tensor([1, 2, 3, 4]))
      .sum()
      .backward();
    expect(y.grad!.toArray()).toEqual([2, 4]);
    const z = tensor([1, 2], { requiresGrad: true });
    expect(() => fc.allReduce(z, { op: 'max' }).sum().backward()).toThrow(
      /derivative for .*all_reduce.*max/,
    );
  });
});

describe('what is refused before anything starts', () => {
  const invalid = expect.objectContaining({ code: 'invalid-argument' });

  test('reductions that mean nothing', () => {
    expect(() => fc.allReduce(tensor([1, 2]), { op: 'bxor' })).toThrow(invalid);
    expect(() => fc.reduceScatterTensor(tensor([1, 2], { dtype: 'int32' }), { op: 'avg' })).toThrow(
      invalid,
    );
    expect(mirror.log).toEqual([]);
  });

  test('parts that are not those of the ranks', () => {
    const x = tensor([1, 2, 3]);
    expect(() => fc.allToAllSingle(x)).toThrow(/3, cannot be split evenly over 2 ranks/);
    expect(() =>
      fc.allToAllSingle(x, { outputSplitSizes: [2, 1], inputSplitSizes: [1, 1] }),
    ).toThrow(/2 whole numbers with sum 3/);
    expect(() => fc.allToAllSingle(x, { outputSplitSizes: [3], inputSplitSizes: [2, 1] })).toThrow(
      invalid,
    );
    expect(() => fc.allToAllSingle(x, { outputSplitSizes: null, inputSplitSizes: [2, 1] })).toThrow(
      /given together/,
    );
    expect(mirror.log).toEqual([]);
  });
});

describe('memory in flight', () => {
  const start = getOp('_c10d_functional::all_reduce');
  const reduce = (x: Tensor): Tensor => callOp(start, [x, 'sum', 'world']) as Tensor;
  const live = (): number => cpuHeap().stats().liveBytes;

  test('stays until the operation is done, whatever becomes of the tensors', async () => {
    const x = randn([4096]);
    fc.waitTensor(reduce(x)).dispose(); // makes what copying needs
    const before = live();
    const result = reduce(x);
    result.dispose();
    expect(live()).toBeGreaterThanOrEqual(before + 4096 * 4);
    await new Promise((resolve) => setTimeout(resolve, 80));
    // Or less: garbage from before may be collected meanwhile.
    expect(live()).toBeLessThanOrEqual(before);
  });

  test('is free at once after waiting, with no turn of the event loop', () => {
    const x = randn([4096]);
    const before = live();
    for (let i = 0; i < 3; i++) fc.waitTensor(reduce(x)).dispose();
    expect(live()).toBe(before);
  });
});

describe('compiled', () => {
  test('the same values on every call, one graph, arguments unchanged', () => {
    const fn = (x: Tensor): Tensor => fc.allReduce(x.mul(3)).add(x);
    const compiled = compile(fn, { fullgraph: true });
    for (const values of [
      [1, 2],
      [5, 7],
      [0, -1],
    ]) {
      const x = tensor(values);
      expect(compiled(x).toArray()).toEqual(values.map((v) => v * 7));
      expect(x.toArray()).toEqual(values);
    }
  });

  test('starts run before, and waits after, what does not need them', () => {
    const fn = (x: Tensor, w: Tensor): Tensor[] => {
      const big = x.matmul(w).relu().matmul(w);
      const sum = fc.allReduce(x);
      return [big, sum];
    };
    const x = randn([4, 4]);
    const w = randn([4, 4]);
    const compiled = compile(fn, { fullgraph: true });
    const launches = launchesOf(() => {
      const [big, sum] = compiled(x, w) as [Tensor, Tensor];
      expect(sum.toArray()).toEqual(x.mul(2).toArray());
      const difference = big.sub(x.matmul(w).relu().matmul(w)).abs().max();
      expect(difference.item()).toBeLessThan(1e-5);
    });
    expect(launches).toMatchInlineSnapshot(`
      [
        "fused_all_reduce_0",
        "extern_all_reduce_1",
        "fused_mm_relu_2",
        "fused_mm_3",
        "extern_wait_tensor_4",
      ]
    `);
  });

  test('equal calls are not merged, unused ones not removed, and the order is that of the program', () => {
    const fn = (x: Tensor): Tensor => {
      fc.allReduce(x.narrow(0, 0, 1));
      const a = fc.allReduce(x);
      const b = fc.allReduce(x);
      fc.allReduce(x.narrow(0, 0, 2), { op: 'max' });
      return a.add(b);
    };
    const compiled = compile(fn, { fullgraph: true });
    for (let call = 0; call < 3; call++) {
      mirror.log.length = 0;
      expect(compiled(tensor([1, 2, 3])).toArray()).toEqual([4, 8, 12]);
      expect(mirror.log.filter((line) => line.startsWith('start'))).toEqual([
        'start all_reduce sum 1',
        'start all_reduce sum 3',
        'start all_reduce sum 3',
        'start all_reduce max 2',
      ]);
      expect(mirror.log.filter((line) => line.startsWith('wait'))).toHaveLength(4);
    }
  });

  test('independent reductions are all under way before the first wait', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => fc.allReduce(x).add(fc.allReduce(y));
    const compiled = compile(fn, { fullgraph: true });
    compiled(tensor([1, 2]), tensor([3, 4]));
    mirror.log.length = 0;
    expect(compiled(tensor([1, 2]), tensor([3, 4])).toArray()).toEqual([8, 12]);
    expect(mirror.log.map((line) => line.split(' ')[0])).toEqual([
      'start',
      'start',
      'wait',
      'wait',
    ]);
  });

  test('gradients through a compiled forward, and inside a compiled step', () => {
    const loss = (w: Tensor, x: Tensor): Tensor => fc.allReduce(w.mul(x)).pow(2).sum();
    const x = tensor([1, 2, 3]);
    const eager = tensor([1, 1, 1], { requiresGrad: true });
    loss(eager, x).backward();
    const w = tensor([1, 1, 1], { requiresGrad: true });
    const compiled = compile(loss);
    for (let call = 0; call < 2; call++) {
      w.grad = null;
      compiled(w, x).backward();
      expect(w.grad!.toArray()).toEqual(eager.grad!.toArray());
    }
    const step = compile(
      () => {
        w.grad = null;
        loss(w, x).backward();
        return w.grad!.clone();
      },
      { fullgraph: true },
    );
    expect(step().toArray()).toEqual(eager.grad!.toArray());
    expect(step().toArray()).toEqual(eager.grad!.toArray());
  });

  test('a value that left the call without being returned is not communicated again', () => {
    const kept: Tensor[] = [];
    const fn = (x: Tensor, keep: boolean): Tensor => {
      const sum = fc.allReduce(x);
      if (keep) kept.push(sum);
      return sum.add(1);
    };
    const compiled = compile(fn);
    compiled(tensor([1, 2]), false);
    compiled(tensor([1, 2]), false);
    mirror.log.length = 0;
    compiled(tensor([1, 2]), true);
    expect(mirror.log.filter((line) => line.startsWith('start'))).toHaveLength(1);
  });
});
