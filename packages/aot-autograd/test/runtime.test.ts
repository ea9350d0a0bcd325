import { isTesseraError } from '@tessera/shared';
import {
  type Tensor,
  autocast,
  enableGrad,
  noGrad,
  ones,
  setDefaultDType,
  setGradEnabled,
  tensor,
} from '@tessera/tensor';
import { gradMode, requiresGrad } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { aotFunction, runEagerly } from '../src/index.js';
import { compare, op, recording } from './support/compare.js';

const M = [
  [1, 2, 3],
  [4, 5, 6],
];
const x = { data: M };
const xg = { data: M, grad: true };
const xn = { data: M, grad: true, leaf: false };

describe('compiled equals eager', () => {
  it.each<[string, (...inputs: Tensor[]) => unknown[], Parameters<typeof compare>[1]]>([
    ['a chain with gradients', (a, b) => [op('tanh', a.mul(b)).add(a)], [xg, xg]],
    ['several results', (a, b) => [a.mul(b), op('sin', a), b.sum()], [xg, x]],
    [
      'a result without gradient',
      (a) => [a.detach().mul(2), a.mul(3), op('gt.Scalar', a, 2)],
      [xg],
    ],
    ['an input returned as it is', (a, b) => [a, b.neg()], [xg, x]],
    ['a view of an input', (a) => [a.view([3, 2]), a.permute([1, 0])], [xg]],
    ['a view of an input that requires no grad', (a) => [op('select.int', a, 0, 1)], [x]],
    ['a detached view of an input', (a) => [a.detach()], [xg]],
    [
      'two views of one intermediate',
      (a) => {
        const y = a.mul(2);
        return [y.view([-1]), y.permute([1, 0])];
      },
      [xg],
    ],
    [
      'an intermediate and its view',
      (a) => {
        const y = a.mul(2);
        return [y, op('slice.Tensor', y, 1, 1, 3, 1)];
      },
      [xg],
    ],
    [
      'an intermediate and its detached alias',
      (a) => {
        const y = a.mul(2);
        return [y, y.detach()];
      },
      [xg],
    ],
    ['an expanded result', (a) => [a.sum().expand([2, 2])], [xg]],
    [
      'parts of a split',
      (a) => (op('split.Tensor', a.mul(2), 1, 1) as unknown as Tensor[]).slice(0, 2),
      [xg],
    ],
    [
      'the same result twice',
      (a) => {
        const y = a.mul(2);
        return [y, y];
      },
      [xg],
    ],
    ['results that are no tensors', (a) => [1, a.neg(), 'text', null], [x]],
    ['no tensor result at all', () => [5], [x]],
    ['an in-place op on an intermediate', (a) => [a.add(1).mul_(2).add_(a)], [xg]],
    [
      'an in-place op through a view',
      (a) => {
        const y = a.mul(1);
        op('select.int', y, 0, 0).mul_(5);
        return [y.mul(y)];
      },
      [xg],
    ],
    [
      'a modified input',
      (a, b) => {
        a.add_(b);
        return [a.mul(2)];
      },
      [x, x],
    ],
    ['a modified input that is returned', (a) => [a.mul_(2)], [x]],
    [
      'an input modified through a view',
      (a) => {
        op('slice.Tensor', a, 1, 0, 2, 1).mul_(10);
        return [a.sum()];
      },
      [x],
    ],
    [
      'a modified non-leaf that requires grad',
      (a, b) => {
        a.mul_(b);
        return [a.sum(), b.mul(3)];
      },
      [xn, xg],
    ],
    [
      'a modified input that starts to require grad',
      (a, b) => {
        a.mul_(b);
        return [a.neg()];
      },
      [x, xg],
    ],
    [
      'a view of a modified non-leaf',
      (a) => {
        a.mul_(2);
        return [a.view([-1])];
      },
      [xn],
    ],
    [
      'a leaf updated under noGrad',
      (a, b) => {
        const y = a.add(b);
        noGrad(() => a.sub_(b));
        return [y.sum()];
      },
      [{ data: [1, 2], grad: true }, { data: [3, 4] }],
    ],
    [
      'inputs swapped in place',
      (a, b) => {
        const old = a.clone();
        a.copy_(b);
        b.copy_(old);
        return [];
      },
      [
        x,
        {
          data: [
            [7, 8, 9],
            [10, 11, 12],
          ],
        },
      ],
    ],
    ['a copy of an input', (a) => [a.clone(), a.add(0)], [xg]],
    [
      'a buffer that became an input',
      (a) => {
        const buffer = op('zeros_like', a, null, null, null, null, null);
        buffer.copy_(a);
        return [buffer];
      },
      [xg],
    ],
    [
      'a broadcast copy into an input',
      (a, b) => {
        a.copy_(b);
        return [a.neg()];
      },
      [x, { data: [1, 2, 3] }],
    ],
    [
      'an update with another dtype',
      (a, b) => {
        const y = b.to('float32');
        y.add_(a.to('float64'));
        return [y.to('float64')];
      },
      [x, x],
    ],
    ['a permuted result', (a) => [a.permute([1, 0]).mul(2)], [xg]],
    [
      'a result with the strides it has in eager after an in-place op',
      (a) => {
        const y = a.permute([1, 0]).mul(1);
        y.view([3, 2]);
        op('select.int', y, 0, 1).add_(1);
        return [y];
      },
      [xg],
    ],
    ['an unused input', (a, _b) => [a.mul(2)], [xg, xg]],
    ['a gradient that is passed through', (a, b) => [a.add(b)], [xg, xg]],
    [
      'an unused part',
      (a, b) => {
        op('exp', b);
        return [a.mul(2)];
      },
      [xg, x],
    ],
  ])('%s', (_, fn, specs) => {
    compare(fn, specs);
  });
});

describe('inputs whose layout changes in place', () => {
  /** What a caller sees of an input and the results after a call. */
  const seen = (
    fn: (...inputs: Tensor[]) => Tensor[],
    make: () => Tensor,
  ): Record<string, unknown> => {
    const input = make();
    const before = input.storage.version;
    const outputs = fn(input);
    const values = [input, ...outputs];
    const requires = values.map((value) => requiresGrad(value));
    const total = values
      .filter((value) => requiresGrad(value))
      .map((value, i) =>
        value
          .mul(value)
          .mul(i + 1)
          .sum(),
      )
      .reduce<Tensor | null>((sum, part) => sum?.add(part) ?? part, null);
    const leaf = leaves.get(input);
    total?.backward();
    return {
      values: values.map((value) => value.toArray()),
      layouts: values.map(({ sizes, strides, storageOffset }) => [sizes, strides, storageOffset]),
      memory: values.map((value) => value.storage === input.storage),
      written: input.storage.version > before,
      requires,
      grad: leaf?.grad?.toArray() ?? null,
    };
  };
  const leaves = new WeakMap<Tensor, Tensor>();
  const plain = (): Tensor => tensor(M);
  const result = (): Tensor => {
    const leaf = tensor(M).requiresGrad_();
    const made = leaf.mul(1);
    leaves.set(made, leaf);
    return made;
  };
  const part = (): Tensor => tensor([...M, ...M]).narrow(0, 1, 2);

  it.each<[string, (a: Tensor) => Tensor[], () => Tensor]>([
    ['transposed', (a) => [a.t_().mul(2)], plain],
    ['transposed and written', (a) => [a.t_().add_(1).sum(0)], plain],
    ['given a dimension', (a) => [a.unsqueeze_(1).mul(2), a], plain],
    ['transposed, with views of it', (a) => [a.t_().narrow(0, 1, 2), a.view([3, 2, 1])], plain],
    ['a part of memory elsewhere', (a) => [a.asStrided_([2, 2], [3, 1], 4).mul(2)], part],
    ['with history', (a) => [a.t_().mul(2)], result],
    ['with history, and written', (a) => [a.t_().mul_(2).sum(0), a], result],
    [
      'a leaf, without recording',
      (a) => [noGrad(() => a.t_()).mul(2)],
      () => plain().requiresGrad_(),
    ],
  ])('%s', (_, fn, make) => {
    const compiled = aotFunction(fn, { fwCompiler: runEagerly });
    expect(seen(compiled, make)).toEqual(seen(fn, make));
    expect(seen(compiled, make)).toEqual(seen(fn, make));
  });
});

describe('tensors written down in a function', () => {
  it('are constants that every call starts with', () => {
    const compiled = aotFunction(
      (a: Tensor) => {
        const counts = tensor([1, 2, 3]).add_(a.detach());
        return [a.mul(counts), counts];
      },
      { fwCompiler: runEagerly },
    );
    for (let call = 0; call < 2; call++) {
      const [product, counts] = compiled(tensor([1, 1, 1]).requiresGrad_()) as [Tensor, Tensor];
      expect([product.toArray(), counts.toArray()]).toEqual([
        [2, 3, 4],
        [2, 3, 4],
      ]);
    }
  });
});

describe('aliasing and identity', () => {
  it('returns inputs as the objects they are, and views on their memory', () => {
    const f = aotFunction((a: Tensor) => [a, a.view([-1])], { fwCompiler: runEagerly });
    const a = tensor(M);
    const [same, view] = f(a);
    expect(same).toBe(a);
    expect(view.storage).toBe(a.storage);
    view.mul_(2);
    expect(a.toArray()).toEqual([
      [2, 4, 6],
      [8, 10, 12],
    ]);
  });

  it('keeps results apart that eager keeps apart', () => {
    const f = aotFunction((a: Tensor) => [a.mul(1), a.clone(), a.neg(), a.neg()], {
      fwCompiler: runEagerly,
    });
    const a = tensor(M);
    const outputs = f(a);
    expect(new Set([a, ...outputs].map((t) => t.storage)).size).toBe(5);
  });

  it('gives the same results and their views one memory', () => {
    const f = aotFunction(
      (a: Tensor) => {
        const y = a.neg();
        return [y, y.view([-1]), y];
      },
      { fwCompiler: runEagerly },
    );
    const [y, view, again] = f(tensor(M));
    expect(again).toBe(y);
    expect(view.storage).toBe(y.storage);
  });

  it('handles inputs that share memory when one is modified', () => {
    const step = (a: Tensor, b: Tensor): Tensor => {
      a.mul_(10);
      const seen = b.clone();
      b.add_(1);
      return seen.add(a.sum());
    };
    const { compiler, print } = recording();
    const run = (fn: typeof step): unknown => {
      const base = tensor([1, 2, 3, 4], { dtype: 'float32' });
      const out = fn(op('slice.Tensor', base, 0, 0, 3, 1), op('slice.Tensor', base, 0, 1, 4, 1));
      return [base.toArray(), out.toArray()];
    };
    expect(run(aotFunction(step, { fwCompiler: compiler }))).toEqual(run(step));
    expect(print(0)).toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[3] */, b: Tensor /* f32[3] */, base_0: Tensor /* f32[4] */) {
        const as_strided = aten.as_strided.default(base_0, [3], [1], 0); // f32[3]
        const mul = aten.mul.Tensor(as_strided, 10); // f32[3]
        const as_strided_scatter = aten.as_strided_scatter.default(base_0, mul, [3], [1], 0); // f32[4]
        const as_strided_2 = aten.as_strided.default(as_strided_scatter, [3], [1], 1); // f32[3]
        const add = aten.add.Tensor(as_strided_2, 1, 1); // f32[3]
        const as_strided_scatter_1 = aten.as_strided_scatter.default(as_strided_scatter, add, [3], [1], 1); // f32[4]
        const as_strided_3 = aten.as_strided.default(as_strided_scatter_1, [3], [1], 0); // f32[3]
        const sum = aten.sum.dim_IntList(as_strided_3, null, false, null); // f32[]
        const add_1 = aten.add.Tensor(as_strided_2, sum, 1); // f32[3]
        const copy_ = aten.copy_.default(base_0, as_strided_scatter_1, false); // f32[4]
        return [add_1];
      }
      "
    `);
  });

  it('compiles again when inputs overlap elsewhere', () => {
    const part = (base: Tensor, at: number): Tensor => op('slice.Tensor', base, 0, at, at + 3, 1);
    const fn = (a: Tensor, b: Tensor): Tensor => {
      a.mul_(10);
      return b.add(0);
    };
    const compiled = aotFunction(fn, { fwCompiler: runEagerly });
    for (const at of [1, 2, 0]) {
      const [base, eager] = [tensor([1, 2, 3, 4, 5]), tensor([1, 2, 3, 4, 5])];
      expect(compiled(part(base, 0), part(base, at)).toArray()).toEqual(
        fn(part(eager, 0), part(eager, at)).toArray(),
      );
      expect(base.toArray()).toEqual(eager.toArray());
    }
  });

  it.each<[string, (a: Tensor) => void]>([
    [
      'an element of an expand',
      (a) =>
        op('select.int', op('select.int', op('expand', a, [2, 2, 3], false), 0, 0), 0, 1).mul_(5),
    ],
    ['as_strided', (a) => op('as_strided', a, [2], [1], a.storageOffset + 4).mul_(5)],
  ])('writes through %s of an input with gaps in memory', (_, update) => {
    const make = (): Tensor[] => {
      const base = tensor([
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ]);
      return [base, op('slice.Tensor', base, 1, 0, 3, 1)];
    };
    const fn = (a: Tensor): Tensor => {
      update(a);
      return a.add(1);
    };
    const [[base, view], [eagerBase, eagerView]] = [make(), make()];
    const result = aotFunction(fn, { fwCompiler: runEagerly })(view);
    expect(result.toArray()).toEqual(fn(eagerView).toArray());
    expect(base.toArray()).toEqual(eagerBase.toArray());
  });

  it('takes a tensor that is given twice once', () => {
    const { compiler, modules } = recording();
    const f = aotFunction((a: Tensor, b: Tensor) => a.mul_(2).add(b), { fwCompiler: compiler });
    const a = tensor([1, 2]);
    expect(f(a, a).toArray()).toEqual([4, 8]);
    expect(modules[0].graph.placeholders.length).toBe(1);
    expect(f(tensor([1, 2]), tensor([1, 2])).toArray()).toEqual([3, 6]);
    expect(modules.length).toBe(2);
  });
});

describe('history', () => {
  const square = (a: Tensor): Tensor => a.mul(a).mul(2);

  it('counts writes of inputs, so that eager notices them', () => {
    const f = aotFunction((a: Tensor) => a.mul_(2), { fwCompiler: runEagerly });
    const w = tensor([2, 3]).requiresGrad_();
    const a = tensor([1, 2]);
    const y = a.mul(w).sum();
    f(a);
    expect(() => y.backward()).toThrow(/modified by an inplace operation/);
  });

  it('notices that a saved tensor was modified', () => {
    const f = aotFunction(square, { fwCompiler: runEagerly });
    const a = tensor([1, 2]).requiresGrad_();
    const y = f(a).sum();
    noGrad(() => a.mul_(2));
    expect(() => y.backward()).toThrow(expect.objectContaining({ code: 'inplace-version' }));
  });

  it('gives views of a leaf no history because it was modified without recording', () => {
    const f = aotFunction(
      (a: Tensor) => {
        a.zero_();
        return a.view([4]);
      },
      { fwCompiler: runEagerly },
    );
    expect(noGrad(() => f(ones([2, 2]).requiresGrad_())).requiresGrad).toBe(false);
  });

  it('gives results history of their own, though the graph made them as views', () => {
    const f = aotFunction((a: Tensor) => a.exp().view([4]), { fwCompiler: runEagerly });
    const y = f(ones([2, 2]).requiresGrad_());
    expect(y.base).toBeNull();
    expect(y.add_(1).requiresGrad).toBe(true);
  });

  it('frees what it saved after backward, unless asked to keep it', () => {
    const f = aotFunction(square, { fwCompiler: runEagerly });
    const a = tensor([1, 2]).requiresGrad_();
    const y = f(a).sum();
    y.backward(null, { retainGraph: true });
    y.backward();
    expect(a.grad?.toArray()).toEqual([8, 16]);
    expect(() => y.backward()).toThrow(expect.objectContaining({ code: 'backward-twice' }));
  });

  it('refuses double backward and allows the first one with createGraph', () => {
    const f = aotFunction(square, { fwCompiler: runEagerly });
    const a = tensor([1, 2]).requiresGrad_();
    f(a).sum().backward(null, { createGraph: true });
    expect(a.grad?.toArray()).toEqual([4, 8]);
    let error: unknown;
    try {
      a.grad?.sum().backward();
    } catch (caught) {
      error = caught;
    }
    expect(isTesseraError(error, 'double-backward-compiled')).toBe(true);
    expect(String(error)).toContain('does not currently support double backward');
  });

  it('compiles the backward graph when the first gradient arrives, once', () => {
    const { compiler, modules } = recording();
    const f = aotFunction(square, { fwCompiler: compiler });
    const a = tensor([1, 2]).requiresGrad_();
    const outs = [f(a), f(a)];
    expect(modules.length).toBe(1);
    for (const out of outs) out.sum().backward();
    expect(modules.length).toBe(2);
    expect(a.grad?.toArray()).toEqual([8, 16]);
  });

  it('takes gradients in another layout and dtype-preserving zeros for missing ones', () => {
    const f = aotFunction((a: Tensor) => [a.mul(2), a.mul(3)], { fwCompiler: runEagerly });
    const a = tensor(M).requiresGrad_();
    const [first] = f(a);
    first
      .permute([1, 0])
      .mul(
        tensor([
          [1, 2],
          [3, 4],
          [5, 6],
        ]),
      )
      .sum()
      .backward();
    expect(a.grad?.toArray()).toEqual([
      [2, 6, 10],
      [4, 8, 12],
    ]);
  });

  it('compiles per autocast setting and default dtype', () => {
    const graphs = recording();
    const compiled = aotFunction((a: Tensor) => a.mm(ones([2, 2])), {
      fwCompiler: graphs.compiler,
    });
    const input = ones([2, 2]);
    const half = (): Tensor =>
      autocast({ device: 'cpu', dtype: 'bfloat16' }, () => compiled(input));
    expect([compiled(input), half(), compiled(input), half()].map(({ dtype }) => dtype)).toEqual([
      'float32',
      'bfloat16',
      'float32',
      'bfloat16',
    ]);
    expect(graphs.modules).toHaveLength(2);
    const scaled = aotFunction((a: Tensor) => a.mul(ones([2])), { fwCompiler: runEagerly });
    const whole = tensor([1, 2], { dtype: 'int64' });
    expect(scaled(whole).dtype).toBe('float32');
    setDefaultDType('float64');
    try {
      expect(scaled(whole).dtype).toBe('float64');
    } finally {
      setDefaultDType('float32');
    }
  });

  it('compiles per grad mode', () => {
    const { compiler, modules } = recording();
    const f = aotFunction(square, { fwCompiler: compiler });
    const a = tensor([1, 2]).requiresGrad_();
    expect(noGrad(() => f(a)).requiresGrad).toBe(false);
    expect(enableGrad(() => f(a)).requiresGrad).toBe(true);
    expect(modules.length).toBe(2);
  });

  it('switches grad mode as the function does, on every call', () => {
    const fn = (a: Tensor): Tensor[] => {
      const y = a.mul(a);
      setGradEnabled(false);
      return [y.clone(), y];
    };
    const compiled = aotFunction(fn, { fwCompiler: runEagerly });
    for (let i = 0; i < 2; i++) {
      try {
        const [cloned, y] = compiled(ones([2]).requiresGrad_());
        expect([gradMode.enabled, cloned.requiresGrad, y.requiresGrad]).toEqual([
          false,
          false,
          true,
        ]);
      } finally {
        setGradEnabled(true);
      }
    }
  });
});

describe('what cannot be compiled', () => {
  it('differentiable updates of inputs that share memory', () => {
    const f = aotFunction((a: Tensor, b: Tensor) => a.mul_(b), { fwCompiler: runEagerly });
    const base = ones([4]).requiresGrad_().mul(1);
    expect(() => f(base.view([2, 2]), base.view([2, 2]))).toThrow(
      expect.objectContaining({ code: 'aot-unsupported' }),
    );
  });
});

describe('leaves that the program makes', () => {
  it('cannot be results', () => {
    const f = aotFunction((a: Tensor) => a.mul(1).detach().requiresGrad_(), {
      fwCompiler: runEagerly,
    });
    expect(() => f(ones([2]))).toThrow(expect.objectContaining({ code: 'aot-unsupported' }));
  });

  it('take the gradients of results that depend on nothing else', () => {
    const { compiler, modules } = recording();
    const f = aotFunction((a: Tensor) => a.detach().requiresGrad_().pow(2), {
      fwCompiler: compiler,
    });
    const a = tensor([1, 2]).requiresGrad_();
    const y = f(a);
    expect(y.requiresGrad).toBe(true);
    y.sum().backward();
    expect(a.grad).toBeNull();
    expect(modules.length).toBe(1);
  });
});
