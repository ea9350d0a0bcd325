/**
 * @file What random programs that call the whole library found: each once gave other numbers than eager code, other
 * histories, or an error.
 */
import { type Tensor, arange, checkpoint, grad, logaddexp, tensor, zeros } from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import { vmap } from '@tessera/tensor/func';
import { xlog1py } from '@tessera/tensor/special';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

const BACKENDS = ['eager', 'aot_eager', 'inductor'] as const;

/** Results of a call, which of them require gradients, and the gradient of all results' sum. */
function play(run: (x: Tensor) => readonly Tensor[] | Promise<readonly Tensor[]>): unknown {
  const leaf = arange(9).reshape([3, 3]).div(7).sin().requiresGrad_();
  const look = (made: readonly Tensor[]): unknown => {
    const losses = made
      .filter((t) => t.requiresGrad)
      .map((t, i) =>
        t
          .sin()
          .sum()
          .mul(i + 1),
      );
    if (losses.length > 0) losses.reduce((a, b) => a.add(b)).backward();
    return [made.map((t) => [t.requiresGrad, t.toArray()]), leaf.grad?.toArray()];
  };
  const made = run(leaf.mul(1));
  return made instanceof Promise ? made.then(look) : look(made);
}

describe.each(BACKENDS)('%s', (backend) => {
  it.each<[string, (t: Tensor, x: Tensor) => readonly Tensor[]]>([
    ['beside a view of it', (t) => [t, t.flatten()]],
    ['by two views of it', (t) => [t.select(0, 0), t.flatten()]],
    ['beside its detached form', (t) => [t, t.detach()]],
    ['written to', (t) => [t.mul_(2), t.flatten()]],
    ['written to through a view', (t, x) => (t.select(0, 0).mul_(x.sum()), [t, t.flatten()])],
  ])('what an operator makes in parts has one history: returned %s', (_name, program) => {
    const run = (x: Tensor): readonly Tensor[] => program(fft.rfft(x), x);
    const found = play(compile(run, { backend }));
    const [results, gradient] = found as [unknown[], number[][]];
    const [want, wanted] = play(run) as [unknown[], number[][]];
    expect(results.length).toBe(want.length);
    expect(JSON.stringify(results, rounded)).toBe(JSON.stringify(want, rounded));
    expect(JSON.stringify(gradient, rounded)).toBe(JSON.stringify(wanted, rounded));
  });

  it('vmap after an await is part of the graph, and sees what was written before', async () => {
    const run = async (x: Tensor): Promise<readonly Tensor[]> => {
      await Promise.resolve();
      x.add_(2).reciprocal_();
      return [vmap((row: Tensor) => row.mul(2))(x)];
    };
    const got = await play(compile(run, { backend }));
    expect(JSON.stringify(got, rounded)).toBe(JSON.stringify(await play(run), rounded));
  });

  it.each<[string, (x: Tensor, other: Tensor) => readonly Tensor[]]>([
    ['in passing', (x, other) => (other.mul(2), slopes(x))],
    ['beside', (x, other) => [slopes(x)[0]!.add(other.mul(2))]],
    ['through what is written', (x, other) => slopes(x.mul(2).add_(other))],
  ])('grad() with a graph is in it although history is used from before: %s', (_name, program) => {
    const run = (x: Tensor): readonly Tensor[] => {
      const other = x.cos();
      return compile(program, { backend })(x, other);
    };
    const want = play((x) => program(x, x.cos()));
    expect(JSON.stringify(play(run), rounded)).toBe(JSON.stringify(want, rounded));
  });

  it.each<[string, (x: Tensor) => Tensor]>([
    ['overwritten', (y) => y.fill_(0.5)],
    ['added to', (y) => y.add_(y)],
    ['written to in part', (y) => (y.select(0, 0).mul_(3), y)],
  ])('what a checkpointed region gives may be %s', (_name, write) => {
    const run = (x: Tensor): readonly Tensor[] => [write(checkpoint((a) => a.sin().exp(), x))];
    const want = play(run);
    expect(JSON.stringify(play(compile(run, { backend })), rounded)).toBe(
      JSON.stringify(want, rounded),
    );
  });

  it('a derivative that fails is an error of whoever differentiates', () => {
    const run = (x: Tensor): Tensor => logaddexp(x.gt(0.5), x);
    const compiled = compile(run, { backend });
    const x = tensor([0.25, 0.75], { requiresGrad: true });
    const made = compiled(x);
    expect(made.toArray()).toEqual(run(x).toArray());
    expect(() => made.sum().backward()).toThrow(
      /Subtraction, the `-` operator, with a bool tensor/,
    );
  });
});

/** A gradient that can be differentiated. */
function slopes(x: Tensor): readonly Tensor[] {
  return grad(x.sin().mul(x).sum(), [x], { createGraph: true });
}

it.each([{ dynamic: true }, {}])('rows that go to one place, known in advance, %o', (options) => {
  const programs: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    indexAdd: (x) => x.indexAdd(0, zeros([x.shape[0]!], { dtype: 'int64' }), x),
    scatterAdd: (x) => x.scatterAdd(0, zeros(x.shape, { dtype: 'int64' }), x),
    amax: (x) => x.scatterReduce(0, zeros(x.shape, { dtype: 'int64' }), x, 'amax'),
    scatter: (x) => x.scatter(0, zeros(x.shape, { dtype: 'int64' }), x),
    indexPut: (x) =>
      x.indexPut([zeros(x.shape.slice(0, 1), { dtype: 'int64' })], x, { accumulate: true }),
  };
  for (const [name, run] of Object.entries(programs)) {
    const compiled = compile((x: Tensor) => run(x), options);
    for (const [rows, columns] of [
      [3, 1],
      [5, 1],
      [9, 1],
      [700, 1],
      [70, 3],
    ] as const) {
      const x = arange(rows * columns)
        .add(1)
        .to('float32')
        .reshape([rows, columns]);
      expect(compiled(x).toArray(), `${name} ${rows}`).toEqual(run(x).toArray());
    }
  }
});

it('a half beside a number in a tensor stays one where an operator is made of others', () => {
  const x = tensor([0.5, 0.25, -1, 2], { dtype: 'float16' });
  const run = (a: Tensor, b: Tensor): Tensor => xlog1py(a, b);
  // As torch.special.xlog1py gives them.
  const want = [0.2027587890625, 0.10137939453125, -0.405517578125, 0.81103515625];
  for (const each of [run, compile(run), compile(run, { backend: 'aot_eager' })]) {
    expect(each(x, tensor(0.5)).dtype).toBe('float16');
    expect(each(x, tensor(0.5)).toArray()).toEqual(want);
  }
});

it('the memory that a checkpointed region gives is no kernel of its own', () => {
  const region = (x: Tensor): Tensor => x.sin().exp();
  const x = arange(6).div(7).requiresGrad_();
  const kernels = (run: (x: Tensor) => Tensor): number => explain(run)(x).kernelCount;
  expect(kernels((a) => checkpoint(region, a))).toBe(kernels(region));
});

it('a factor of truth values is one of them', () => {
  const at = tensor([0, 0], { dtype: 'int64' });
  for (const count of [2, 5000]) {
    const run = (rows: Tensor): Tensor =>
      zeros([2, count], { dtype: 'bool' }).indexAdd(0, at, rows, { alpha: 0.5 });
    const rows = arange(2 * count)
      .reshape([2, count])
      .gt(0);
    const want = [new Array<boolean>(count).fill(true), new Array<boolean>(count).fill(false)];
    expect(compile(run)(rows).toArray()).toEqual(want);
  }
});

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(4)) + 0 : value;
}
