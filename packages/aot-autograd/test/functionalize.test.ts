import { type GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, getOp, ones, tensor } from '@tessera/tensor';
import { defineOp } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type FunctionalGraph, functionalize } from '../src/index.js';
import { op } from './support/compare.js';

const values = (module: GraphModule, ...inputs: unknown[]): unknown => {
  const result = module.forward(...inputs);
  return ([result].flat() as Tensor[]).map((t) => t.toArray());
};

/** Traces and makes functional; checks that nothing writes before the epilogue, and that results are equal. */
function check(fn: (...inputs: Tensor[]) => unknown, ...inputs: Tensor[]): FunctionalGraph {
  const traced = makeFx(fn)(...inputs);
  const functional = functionalize(traced);
  functional.module.lint();
  const writes = functional.module.graph.nodes.filter(
    (node) => typeof node.target === 'object' && node.target.isMutable,
  );
  expect(writes.every((node) => node.target === getOp('aten::copy_'))).toBe(true);
  const copies = inputs.map((input) => input.clone());
  const again = inputs.map((input) => input.clone());
  expect(values(functional.module, ...copies)).toEqual(values(traced, ...again));
  expect(copies.map((t) => t.toArray())).toEqual(again.map((t) => t.toArray()));
  return functional;
}

const iota = (rows: number, columns: number): Tensor =>
  tensor(
    Array.from({ length: rows }, (_, i) =>
      Array.from({ length: columns }, (__, j) => i * columns + j + 1),
    ),
  );

describe('functionalize', () => {
  it('turns in-place ops into pure ones and views of them into new views', () => {
    const { module } = check(
      (x) => {
        const y = x.neg();
        const flat = y.view([-1]);
        y.mul_(2);
        return flat.add(1);
      },
      iota(2, 3),
    );
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */) {
        const neg = aten.neg.default(x); // f32[2, 3]
        const mul = aten.mul.Tensor(neg, 2); // f32[2, 3]
        const view_1 = aten.view.default(mul, [6]); // f32[6]
        const add = aten.add.Tensor(view_1, 1, 1); // f32[6]
        return [add];
      }
      "
    `);
  });

  it('scatters an update of a part into the whole', () => {
    const { module } = check(
      (x) => {
        const y = x.clone();
        op('slice.Tensor', op('select.int', y, 0, 1), 0, 0, 2, 1).add_(10);
        return y;
      },
      iota(2, 3),
    );
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */) {
        const clone = aten.clone.default(x, null); // f32[2, 3]
        const select = aten.select.int(clone, 0, 1); // f32[3]
        const slice = aten.slice.Tensor(select, 0, 0, 2, 1); // f32[2]
        const add = aten.add.Tensor(slice, 10, 1); // f32[2]
        const slice_scatter = aten.slice_scatter.default(select, add, 0, 0, 2, 1); // f32[3]
        const select_scatter = aten.select_scatter.default(clone, slice_scatter, 0, 1); // f32[2, 3]
        return [select_scatter];
      }
      "
    `);
  });

  it('copies updates back to inputs at the end', () => {
    const { module, mutated } = check(
      (x, w) => {
        x.add_(w);
        const seen = x.mul(2);
        w.mul_(3);
        return seen;
      },
      iota(2, 3),
      iota(2, 3),
    );
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */, w: Tensor /* f32[2, 3] */) {
        const add = aten.add.Tensor(x, w, 1); // f32[2, 3]
        const mul = aten.mul.Tensor(add, 2); // f32[2, 3]
        const mul_1 = aten.mul.Tensor(w, 3); // f32[2, 3]
        const copy_ = aten.copy_.default(x, add, false); // f32[2, 3]
        const copy__1 = aten.copy_.default(w, mul_1, false); // f32[2, 3]
        return [mul];
      }
      "
    `);
    expect(mutated.map((node) => node.name)).toEqual(['x', 'w']);
  });

  it.each<[string, (y: Tensor) => Tensor]>([
    ['view', (y) => y.view([3, 2])],
    ['permute', (y) => y.permute([1, 0])],
    ['transpose', (y) => op('transpose.int', y, 0, -1)],
    ['t', (y) => op('t', y)],
    ['unsqueeze', (y) => op('unsqueeze', y, 1)],
    ['squeeze', (y) => op('squeeze.dim', op('unsqueeze', y, 0), 0)],
    ['slice', (y) => op('slice.Tensor', y, 1, 0, 3, 2)],
    ['negative slice', (y) => op('slice.Tensor', y, -1, -2, 9223372036854775807, 1)],
    ['select', (y) => op('select.int', y, 1, -1)],
    ['diagonal', (y) => op('diagonal', y, 0, 0, 1)],
    ['split', (y) => (op('split.Tensor', y, 2, 1) as unknown as Tensor[])[1]],
    ['split with sizes', (y) => (op('split_with_sizes', y, [1, 2], 1) as unknown as Tensor[])[1]],
    ['unbind', (y) => (op('unbind.int', y, 0) as unknown as Tensor[])[1]],
    ['detach', (y) => y.detach()],
    ['alias', (y) => op('alias', y)],
    ['expand to the same shape', (y) => y.expand([2, 3])],
    ['as_strided', (y) => op('as_strided', y, [2, 2], [3, 1], 1)],
    ['an element of an expand', (y) => op('select.int', op('expand', y, [4, 2, 3], false), 0, 2)],
    [
      'a row of an expanded column',
      (y) => op('select.int', op('expand', op('slice.Tensor', y, 1, 1, 2, 1), [2, 5], false), 1, 3),
    ],
    [
      'views of views',
      (y) => op('select.int', op('slice.Tensor', y.permute([1, 0]).view([3, 2]), 0, 1, 3, 1), 1, 0),
    ],
  ])('writes through %s of an intermediate and of an input', (_, view) => {
    const program = (y: Tensor): Tensor[] => {
      const whole = y.view([-1]);
      const part = view(y);
      part.mul_(-1);
      const mid = whole.clone();
      part.add_(100);
      return [mid, whole.add(0), part.add(0), y.mul(2)];
    };
    check((x) => program(x.add(0)), iota(2, 3));
    check((x) => program(x), iota(2, 3));
  });

  it('sees a write through the whole in a part, and through a part in a sibling', () => {
    check(
      (x) => {
        const y = x.clone();
        const [a, b] = op('unbind.int', y, 0) as unknown as Tensor[];
        const columns = y.permute([1, 0]);
        y.add_(1);
        const first = a.clone();
        op('fill_.Scalar', op('select.int', columns, 0, 1), 7);
        return [first, a.mul(1), b.mul(1), columns.clone()];
      },
      iota(2, 3),
    );
  });

  it('keeps dtype and shape of what is written', () => {
    check(
      (x) => {
        const y = x.to('float64');
        y.add_(x);
        op('select.int', y, 0, 0).copy_(x.sum());
        return y;
      },
      iota(2, 3),
    );
  });

  it('returns results with memory of their own', () => {
    const { module } = check(
      (x) => {
        const y = op('empty_like', x, null, null, null, null, null);
        y.copy_(x);
        return [y, x];
      },
      iota(1, 2),
    );
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2] */) {
        const clone = aten.clone.default(x, null); // f32[1, 2]
        const clone_1 = aten.clone.default(x, null); // f32[1, 2]
        return [clone, clone_1];
      }
      "
    `);
  });

  it('saves an input that another update reads, before it is overwritten', () => {
    const { module } = check(
      (x, w) => {
        const old = x.clone();
        x.copy_(w);
        w.copy_(old);
        return [];
      },
      iota(1, 2),
      iota(1, 2).neg(),
    );
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2] */, w: Tensor /* f32[1, 2] */) {
        const clone = aten.clone.default(x, null); // f32[1, 2]
        const clone_1 = aten.clone.default(w, null); // f32[1, 2]
        const copy_ = aten.copy_.default(x, clone_1, false); // f32[1, 2]
        const copy__1 = aten.copy_.default(w, clone, false); // f32[1, 2]
        return [];
      }
      "
    `);
  });

  it('does not copy back what did not change in the end', () => {
    const { module } = check(
      (x) => {
        x.copy_(x.detach());
        return x.neg();
      },
      iota(1, 2),
    );
    expect(module.graph.nodes.some((node) => node.target === getOp('aten::copy_'))).toBe(false);
  });

  it('updates constants of the module', () => {
    const counter = tensor([0]);
    const functional = functionalize(makeFx((x: Tensor) => x.add(counter.add_(1)))(ones([1])));
    counter.mul_(0);
    expect(values(functional.module, ones([1]))).toEqual([[2]]);
    expect(values(functional.module, ones([1]))).toEqual([[3]]);
    expect(counter.toArray()).toEqual([2]);
  });

  it('runs ops without a functional form on copies', () => {
    const bump = defineOp('test::bump(Tensor(a!) self, Tensor by) -> Tensor(a!)', {
      produce: ({ self, by }) => (self as Tensor).add_(by as Tensor),
      meta: ({ self }) => self as Tensor,
    });
    const traced = makeFx((x: Tensor) => {
      const flat = x.view([-1]);
      op(bump.qualifiedName, x, x.neg().mul(2));
      return flat.add(0);
    })(iota(2, 2));
    const { module } = functionalize(traced);
    const x = iota(2, 2);
    expect(values(module, x)).toEqual([[-1, -2, -3, -4]]);
    expect(x.toArray()).toEqual([
      [-1, -2],
      [-3, -4],
    ]);
  });

  it('uses a flat base for inputs that share memory', () => {
    const base = tensor([1, 2, 3, 4]);
    const left = op('slice.Tensor', base, 0, 0, 3, 1);
    const right = op('slice.Tensor', base, 0, 1, 4, 1);
    const { module, bases } = functionalize(
      makeFx((a: Tensor, b: Tensor) => {
        a.mul_(10);
        return b.add(0);
      })(left, right),
    );
    expect(bases.length).toBe(1);
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[3] */, b: Tensor /* f32[3] */, base_0: Tensor /* f32[4] */) {
        const as_strided = aten.as_strided.default(base_0, [3], [1], 0); // f32[3]
        const mul = aten.mul.Tensor(as_strided, 10); // f32[3]
        const as_strided_scatter = aten.as_strided_scatter.default(base_0, mul, [3], [1], 0); // f32[4]
        const as_strided_2 = aten.as_strided.default(as_strided_scatter, [3], [1], 1); // f32[3]
        const add = aten.add.Tensor(as_strided_2, 0, 1); // f32[3]
        const copy_ = aten.copy_.default(base_0, as_strided_scatter, false); // f32[4]
        return [add];
      }
      "
    `);
    expect(values(module, left, right, base)).toEqual([[20, 30, 4]]);
    expect(base.toArray()).toEqual([10, 20, 30, 4]);
  });

  it('writes by address through a view that has no inverse', () => {
    defineOp('test::odd(Tensor(a) self) -> Tensor(a)', {
      view: ({ self }) => ({
        sizes: [2],
        strides: [2],
        offset: (self as Tensor).storageOffset + 1,
      }),
    });
    check(
      (x) => {
        const y = x.clone();
        op('test::odd', y).mul_(-1);
        return y;
      },
      iota(2, 2),
    );
  });

  it('is linear in the number of ops', () => {
    const traced = makeFx(
      (x: Tensor) => {
        const y = x.clone();
        for (let i = 0; i < 3000; i++) op('select.int', y, 0, 0).mul_(1.5);
        return y;
      },
      { stackTraces: false },
    )(iota(2, 2));
    const start = performance.now();
    functionalize(traced);
    expect(performance.now() - start).toBeLessThan(5000);
  });
});
