/**
 * @file Pure functions at other sizes: their JavaScript runs once for each, along the trace that the sizes share.
 */
import { config } from '@tessera/shared';
import {
  type Tensor,
  add,
  cat,
  grad,
  linear,
  matmul,
  mul,
  ones,
  relu,
  softmax,
  tensor,
} from '@tessera/tensor';
import { layerNorm } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type TraceOptions, markDynamic } from '../src/index.js';
import { compileEager } from './compile-for-test.js';
import { numbers } from './numbers.js';

/** Runs at several sizes; says how often the JavaScript ran until each, and how often it was recorded in all. */
function runs(
  fn: (x: Tensor) => Tensor,
  sizes: readonly (readonly number[])[],
  options: Partial<TraceOptions> = {},
): { readonly calls: number[]; readonly captures: number } {
  let calls = 0;
  const { call, function: compiled } = compileEager(
    (x: Tensor) => {
      calls++;
      return fn(x);
    },
    { pure: true, ...options },
  );
  const counts = sizes.map((size) => {
    const x = numbers(...size);
    const expected = fn(x).toArray();
    expect(call(x).toArray()).toEqual(expected);
    return calls;
  });
  return { calls: counts, captures: compiled.captures.length };
}

const w = numbers(3, 4);
const b = numbers(4);
const ROWS = [
  [6, 3],
  [4, 3],
  [5, 3],
  [9, 3],
  [4, 3],
  [5, 3],
] as const;

describe('pure functions that look at no size', () => {
  it('run along one trace once for each size, and are skipped then', () => {
    const fn = (x: Tensor): Tensor => softmax(relu(linear(x, w.t(), b)), -1).sum(0);
    const calls = [1, 2, 3, 4, 4, 4];
    expect(runs(fn, ROWS, { dynamic: true })).toEqual({ calls, captures: 1 });
    expect(runs(fn, ROWS)).toEqual({ calls, captures: 2 });
    expect(runs(fn, ROWS, { dynamic: false })).toEqual({ calls, captures: 4 });
  });

  it('are replayed beyond trace.sizeLimit', () => {
    const sizes = [4, 5, 6, 4, 5, 6].map((n) => [n, 3]);
    config.patch({ 'trace.sizeLimit': 2 }, () => {
      const { calls, captures } = runs((x) => mul(x, 2), sizes, { dynamic: true });
      expect(calls).toEqual([1, 2, 3, 3, 3, 4]);
      expect(captures).toBe(1);
    });
  });

  it('constants that equal a size stay constants', () => {
    const fn = (x: Tensor): Tensor => mul(x, 3).view([3, -1]).sum(1);
    const sizes = [
      [5, 3],
      [6, 2],
      [2, 9],
      [6, 2],
    ];
    expect(runs(fn, sizes, { dynamic: true }).calls).toEqual([1, 2, 3, 3]);
  });

  it('the rank may be asked, and 0 and 1 are other functions', () => {
    const fn = (x: Tensor): Tensor => (x.ndim === 2 ? layerNorm(x, [3]) : x);
    expect(
      runs(
        fn,
        [
          [4, 3],
          [5, 3],
          [1, 3],
          [1, 3],
          [7, 3],
          [2, 2, 3],
        ],
        { dynamic: true },
      ),
    ).toEqual({ calls: [1, 2, 3, 3, 4, 5], captures: 3 });
  });

  it('marks are enough', () => {
    const { call, function: compiled } = compileEager((x: Tensor, y: Tensor) => matmul(x, y), {
      pure: true,
    });
    const first = numbers(4, 3);
    markDynamic(first, 0);
    call(first, w);
    for (const n of [5, 6, 7])
      expect(call(numbers(n, 3), w).toArray()).toEqual(matmul(numbers(n, 3), w).toArray());
    expect(compiled.captures.length).toBe(1);
  });

  it('dims that were equal must be', () => {
    const { call, function: compiled } = compileEager(
      (x: Tensor, y: Tensor) => cat([mul(x, 2), y]),
      { pure: true, dynamic: true },
    );
    const check = (n: number, m: number): void =>
      expect(call(numbers(n), numbers(m)).toArray()).toEqual(
        cat([mul(numbers(n), 2), numbers(m)]).toArray(),
      );
    check(3, 3);
    check(5, 5);
    expect(compiled.captures.length).toBe(1);
    check(5, 6);
    expect(compiled.captures.length).toBe(2);
    check(7, 9);
    expect(compiled.captures.length).toBe(2);
  });

  it('gradients of results', () => {
    const fn = (x: Tensor): Tensor => matmul(x, w).pow(2).sum();
    const { call, function: compiled } = compileEager(fn, { pure: true, dynamic: true });
    for (const n of [4, 5, 6, 5, 4]) {
      const x = numbers(n, 3).detach().requiresGrad_(true);
      expect(grad(call(x), [x])[0]!.toArray()).toEqual(grad(fn(x), [x])[0]!.toArray());
    }
    expect(compiled.captures.length).toBe(1);
  });

  it('an error of the present sizes is that of the function', () => {
    const fn = (x: Tensor): Tensor => add(x.view([-1, 2]), 1);
    const { call } = compileEager(fn, { pure: true, dynamic: true });
    for (const n of [4, 6]) call(numbers(n));
    expect(() => call(numbers(7))).toThrow(expect.objectContaining({ code: 'shape-mismatch' }));
    expect(call(numbers(8)).toArray()).toEqual(fn(numbers(8)).toArray());
  });

  it('inputs that are written to', () => {
    let calls = 0;
    const { call } = compileEager(
      (x: Tensor) => {
        calls++;
        return x.add_(1).mul(2);
      },
      { pure: true, dynamic: true },
    );
    for (const n of [3, 4, 5, 4]) {
      const x = numbers(n);
      expect(call(x).toArray()).toEqual(numbers(n).add(1).mul(2).toArray());
      expect(x.toArray()).toEqual(numbers(n).add(1).toArray());
    }
    expect(calls).toBe(3);
  });
});

describe('pure functions that look at sizes', () => {
  const readers: Record<string, (x: Tensor) => Tensor> = {
    'a size as a factor': (x) => mul(x, x.shape[0]!),
    'a branch': (x) => (x.size(0) > 4 ? mul(x, 2) : add(x, 1)),
    'the sizes of a result': (x) => {
      const y = cat([x, x]);
      return y.shape[0] === 8 ? mul(y, 2) : y;
    },
    'a count of elements': (x) => mul(x, x.numel),
    'a loop': (x) => {
      let y = x;
      for (const size of x.sizes) y = add(y, size);
      return y;
    },
    strides: (x) => mul(x, x.t().strides[1]!),
  };
  for (const [name, fn] of Object.entries(readers)) {
    it(`run again for new sizes: ${name}`, () => {
      for (const dynamic of [true, undefined])
        expect(runs(fn, ROWS, { dynamic }).calls).toEqual([1, 2, 3, 4, 4, 4]);
    });
  }

  it('lists as long as a size are not for other sizes', () => {
    const fn = (x: Tensor): Tensor => x.unbind(0).reduce((a, item) => add(mul(a, 2), item));
    expect(runs(fn, ROWS, { dynamic: true }).calls).toEqual([1, 2, 3, 4, 4, 4]);
  });

  it('leave their arguments as they were', () => {
    const { call } = compileEager((x: Tensor) => mul(x, x.shape[0]!), { pure: true });
    const x = numbers(4);
    call(x);
    expect(Object.getOwnPropertyDescriptor(x, 'sizes')).toMatchObject({
      value: [4],
      writable: true,
    });
    expect(() =>
      call(
        tensor(2)
          .view([1, 1])
          .expand([3, 3])
          .add(ones([2, 2])),
      ),
    ).toThrow('must match');
  });
});
