/**
 * @file Dynamic shapes: one trace serves many sizes, and every result is what eager gives.
 */
import { describe, expect, it, vi } from 'vitest';
import {
  type Tensor,
  add,
  arange,
  cat,
  grad,
  matmul,
  mul,
  ones,
  softmax,
  tensor,
  zeros,
} from '@tessera/tensor';
import { config } from '@tessera/shared';
import { explainFunction, markDynamic, markStatic } from '../src/index.js';
import { compileEager } from './compile-for-test.js';

/** `[rows, cols]` with values that differ everywhere. */
function matrix(rows: number, cols: number, requiresGrad = false): Tensor {
  const t = arange(rows * cols, { dtype: 'float32' })
    .add(1)
    .view([rows, cols])
    .div(7);
  return requiresGrad ? t.detach().requiresGrad_(true) : t;
}

describe('automatic dynamic shapes', () => {
  it('a dim that changed once never compiles again', () => {
    const fn = (x: Tensor): Tensor => softmax(mul(x, 2), -1).sum(0);
    const { call, function: compiled } = compileEager(fn);
    for (const rows of [3, 4, 5, 9, 2, 3, 4]) {
      const x = matrix(rows, 3);
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(2);
    expect(compiled.reasons).toEqual([
      "tensor 'L['x']' size mismatch at index 0. expected 3, actual 4",
    ]);
  });

  it('keeps code for at most trace.sizeLimit sizes, and runs others eagerly until one is long unused', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const fn = (x: Tensor): Tensor => mul(x, 2).sum(0);
    config.patch({ 'trace.sizeLimit': 2 }, () => {
      const { call, function: compiled, graphs } = compileEager(fn);
      const compiles = (rows: number): number => {
        const before = graphs.length;
        const x = matrix(rows, 2);
        expect(call(x).toArray()).toEqual(fn(x).toArray());
        return graphs.length - before;
      };
      [3, 4].forEach(compiles);
      expect([5, 6, 7, 7, 5, 6, 7].map(compiles)).toEqual([1, 1, 0, 0, 0, 0, 0]);
      expect(compiled.captures.length).toBe(2);
      expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('many sizes'));
      const made = Array.from({ length: 40 }, () => compiles(7));
      expect(made.reduce((sum, n) => sum + n)).toBe(1);
    });
    warn.mockRestore();
  });

  it('sizes 0 and 1 are specialised', () => {
    const fn = (x: Tensor): Tensor => mul(x, 2).sum(0);
    const { call, function: compiled } = compileEager(fn);
    for (const rows of [3, 4, 1, 0, 5, 1, 0]) {
      const x = zeros([rows, 2]);
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(4);
    expect(compiled.reasons[1]).toBe("2 <= L['x'].size()[0]");
  });

  it('integers computed from a shape are found by comparing traces', () => {
    const fn = (x: Tensor): Tensor => {
      const [b, c] = x.shape as [number, number];
      const flat = x.reshape([b * c]);
      const padded = cat([flat, zeros([2 * b + 1])]);
      return padded.narrow(0, b, b * c - b).view([c - 1, b]);
    };
    const { call, function: compiled } = compileEager(fn);
    for (const rows of [4, 6, 7, 10, 3]) {
      const x = matrix(rows, 4);
      expect(call(x).toArray()).toEqual(fn(x).toArray());
      expect(call(x).shape).toEqual([3, rows]);
    }
    expect(compiled.captures.length).toBe(2);
  });

  it('halves and remainders of a size', () => {
    const fn = (x: Tensor): Tensor => {
      const half = Math.floor(x.shape[0]! / 2);
      return add(x.narrow(0, 0, half), x.narrow(0, x.shape[0]! - half, half));
    };
    const { call, function: compiled } = compileEager(fn);
    for (const n of [8, 11, 5, 6, 30]) {
      const x = arange(n, { dtype: 'float32' });
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(2);
  });

  it('dims that were equal may differ; with dynamic: true they share a symbol until they do', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => cat([mul(x, 2), mul(y, 3)]);
    for (const dynamic of [undefined, true]) {
      const { call, function: compiled } = compileEager(fn, { dynamic });
      for (const [a, b] of [
        [3, 3],
        [4, 4],
        [5, 5],
        [6, 7],
        [2, 9],
      ] as const) {
        const [x, y] = [arange(a), arange(b)];
        expect(call(x, y).toArray()).toEqual(fn(x, y).toArray());
      }
      expect(compiled.captures.length).toBe(2);
      expect(compiled.reasons).toEqual([
        dynamic === true
          ? "L['y'].size()[0] == L['x'].size()[0]"
          : "tensor 'L['x']' size mismatch at index 0. expected 3, actual 4",
      ]);
    }
  });

  it('a branch on a size is followed natively', () => {
    const fn = (x: Tensor): Tensor => (x.shape[0]! > 5 ? mul(x, 2) : add(x, 1));
    const { call, function: compiled } = compileEager(fn);
    for (const n of [3, 4, 8, 9, 5, 20]) {
      const x = arange(n, { dtype: 'float32' });
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(3);
  });

  it('graph breaks between symbolic segments', () => {
    const fn = (x: Tensor): Tensor => {
      const y = mul(x, 2);
      const s = y.sum().item();
      return add(y, s).view([x.shape[0]! * 2]);
    };
    const { call, function: compiled } = compileEager(fn);
    for (const n of [3, 4, 8, 9, 4]) {
      const x = matrix(n, 2);
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(2);
  });

  it('backward inside and outside', () => {
    const inside = (x: Tensor, w: Tensor): Tensor => {
      const loss = matmul(x, w).pow(2).mean();
      loss.backward();
      const g = w.grad!;
      w.grad = null;
      return mul(g, x.shape[0]!);
    };
    const outside = (x: Tensor, w: Tensor): Tensor => matmul(x, w).pow(2).sum();
    const one = compileEager(inside);
    const two = compileEager(outside);
    for (const n of [3, 4, 8, 9, 4]) {
      const x = matrix(n, 2);
      const w = matrix(2, 3, true);
      expect(one.call(x, w).toArray()).toEqual(inside(x, w).toArray());
      const x2 = matrix(n, 2, true);
      const got = grad(two.call(x2, w), [x2, w]).map((g) => g.toArray());
      expect(got).toEqual(grad(outside(x2, w), [x2, w]).map((g) => g.toArray()));
    }
    expect(one.function.captures.length).toBe(2);
    expect(two.function.captures.length).toBe(2);
  });

  it('a gradient of a dynamic leaf', () => {
    const fn = (x: Tensor): Tensor => {
      mul(x, x).sum().backward();
      return add(x.grad!, 1);
    };
    const { call, function: compiled } = compileEager(fn);
    for (const n of [3, 4, 8, 9, 4]) {
      const x = matrix(n, 2, true);
      const y = matrix(n, 2, true);
      expect(call(x).toArray()).toEqual(fn(y).toArray());
      expect(x.grad!.toArray()).toEqual(y.grad!.toArray());
    }
    expect(compiled.captures.length).toBe(2);
  });

  it('a counter that is an argument of an op', () => {
    let i = 0;
    const data = matrix(20, 2);
    const fn = (): Tensor => mul(data.narrow(0, i, 3), 2);
    const { call, function: compiled } = compileEager(fn);
    for (i = 0; i < 12; i++) expect(call().toArray()).toEqual(fn().toArray());
    expect(compiled.captures.length).toBe(2);
  });

  it('strides of a transposed input', () => {
    const fn = (x: Tensor): Tensor => add(x, 1).contiguous().view([-1]);
    const { call, function: compiled } = compileEager(fn);
    for (const n of [3, 4, 8, 9]) {
      const x = matrix(n, 3).t();
      expect(call(x).toArray()).toEqual(fn(x).toArray());
    }
    expect(compiled.captures.length).toBe(2);
  });

  it('lists as long as a size, longer and shorter than when captured', () => {
    const fold = (x: Tensor): Tensor => x.unbind(0).reduce((a, b) => add(mul(a, 2), b));
    const parts = (x: Tensor): Tensor[] => x.unbind(0);
    for (const dynamic of [undefined, true]) {
      const one = compileEager(fold, { dynamic });
      const two = compileEager(parts, { dynamic });
      for (const rows of [3, 4, 5, 9, 2, 3, 9]) {
        const x = matrix(rows, 2);
        expect(one.call(x).toArray()).toEqual(fold(x).toArray());
        expect(two.call(x).map((part) => part.toArray())).toEqual(x.toArray());
      }
    }
  });

  it('user errors at one size are those of eager, and later calls work', () => {
    const fn = (x: Tensor): Tensor => x.view([-1, 2]).sum(1);
    const { call } = compileEager(fn);
    for (const n of [4, 6, 8]) call(arange(n));
    expect(() => call(arange(7))).toThrow(/shape|size/);
    expect(call(arange(10)).toArray()).toEqual(fn(arange(10)).toArray());
  });
});

describe('dynamic: true, false, marks', () => {
  it('dynamic: true captures once for all sizes', () => {
    const fn = (x: Tensor, y: Tensor): Tensor =>
      matmul(x, y)
        .view([x.shape[0]! * y.shape[1]!])
        .add(1);
    const { call, function: compiled } = compileEager(fn, { dynamic: true });
    for (const [n, m, k] of [
      [3, 4, 5],
      [4, 2, 6],
      [7, 7, 7],
      [2, 3, 4],
    ] as const) {
      const [x, y] = [matrix(n, m), matrix(m, k)];
      expect(call(x, y).toArray()).toEqual(fn(x, y).toArray());
    }
    expect(compiled.captures.length).toBe(1);
  });

  it('dynamic: false compiles per size', () => {
    const { call, function: compiled } = compileEager((x: Tensor) => mul(x, 2), { dynamic: false });
    for (const n of [3, 4, 5, 3]) call(ones([n]));
    expect(compiled.captures.length).toBe(3);
  });

  it('markDynamic and markStatic', () => {
    const fn = (x: Tensor): Tensor => mul(x, 2);
    const { call, function: compiled } = compileEager(fn);
    const first = ones([4, 3]);
    markDynamic(first, 0, { max: 8 });
    call(first);
    for (const n of [2, 5, 8]) call(ones([n, 3]));
    expect(compiled.captures.length).toBe(1);
    call(ones([9, 3]));
    expect(compiled.captures.length).toBe(2);
    expect(compiled.reasons).toEqual(["2 <= L['x'].size()[0] <= 8"]);
    const two = compileEager(fn);
    for (const n of [3, 4, 5]) {
      const t = ones([n]);
      markStatic(t);
      two.call(t);
    }
    expect(two.function.captures.length).toBe(3);
    expect(() => markDynamic(ones([1]), 0)).toThrow(/dim 0 has size 1/);
    expect(() => markDynamic(ones([2]), 3)).toThrow(/Dimension out of range/);
    expect(() => markStatic(tensor(1), 0)).toThrow(/Dimension out of range/);
  });
});

describe('what people see of symbols', () => {
  it('graphs, symbols and guards name them', () => {
    let rows = 1;
    const fn = (x: Tensor, w: Tensor): Tensor => {
      const flat = matmul(x, w).view([x.shape[0]! * w.shape[1]!]);
      return cat([flat, zeros([rows])]);
    };
    const { call, function: compiled, graphs } = compileEager(fn);
    for (const n of [4, 7, 9]) {
      call(matrix(n, 2), matrix(2, 3));
      rows += n % 5;
    }
    expect(graphs.at(-1)!.print()).toMatchInlineSnapshot(`
      "export function forward(l_x: Tensor /* f32[s0, 2] */, l_w: Tensor /* f32[2, 3] */) {
        const s0 = l_x.size(0); // 9
        const s1 = 7;
        const matmul = aten.matmul.default(l_x, l_w); // f32[s0, 3]
        const view = aten.view.default(matmul, [3 * s0]); // f32[3 * s0]
        const zeros = aten.zeros.default([s1], null, null, null, null); // f32[s1]
        const cat = aten.cat.default([view, zeros], 0); // f32[3 * s0 + s1]
        return [cat];
      }
      "
    `);
    const text = String(explainFunction(compiled));
    expect(text.slice(text.indexOf('Guards'), text.indexOf('Graph 1'))).toMatchInlineSnapshot(`
      "Guards (1 GLOBAL_STATE, 2 TENSOR_MATCH, 1 SHAPE_ENV):
        GLOBAL_STATE grad_mode == True, default_dtype == float32
        L['x']: TENSOR_MATCH float32 cpu [s0, 2] strides [2, 1]
        L['w']: TENSOR_MATCH float32 cpu [2, 3] strides [3, 1]
        SHAPE_ENV 2 <= L['x'].size()[0]
      Symbols:
        s0 = 7 (L['x'].size()[0], from 2)
        s1 = 5 (size)
      "
    `);
    expect(explainFunction(compiled).symbols[0]).toEqual({
      name: 's0',
      source: "L['x'].size()[0]",
      hint: 7,
      min: 2,
      max: Infinity,
    });
  });

  it('a graph that was captured once with dynamic: true', () => {
    const fn = (x: Tensor): Tensor => mul(x, 2).view([-1]).sum();
    const { call, graphs } = compileEager(fn, { dynamic: true });
    call(matrix(4, 6));
    expect(graphs[0]!.print()).toMatchInlineSnapshot(`
      "export function forward(l_x: Tensor /* f32[s0, s1] */) {
        const s0 = l_x.size(0); // 4
        const s1 = l_x.size(1); // 6
        const mul = aten.mul.Tensor(l_x, 2); // f32[s0, s1]
        const view = aten.view.default(mul, [-1]); // f32[s0 * s1]
        const sum = aten.sum.dim_IntList(view, null, false, null); // f32[]
        return [sum];
      }
      "
    `);
    call(matrix(5, 6));
    expect(graphs[1]!.print()).toContain('const s0 = l_x.size(0); // 5');
  });
});
