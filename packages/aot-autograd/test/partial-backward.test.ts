import { type Tensor, grad, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotFunction, minCutRematerializationPartition } from '../src/index.js';
import { expectClose, op, recording } from './support/compare.js';

type Results = readonly Tensor[];

/** The gradients (or the code of the error) that `use` leaves, eagerly and compiled. */
function expectAsEager(
  fn: (...inputs: Tensor[]) => Results,
  data: readonly number[][],
  use: (results: Results, inputs: readonly Tensor[]) => void,
): ReturnType<typeof recording> {
  const graphs = recording();
  const observe = (run: (...inputs: Tensor[]) => Results): unknown => {
    const inputs = data.map((values) => tensor(values, { dtype: 'float64' }).requiresGrad_());
    try {
      use(run(...inputs.map((input) => input.mul(1))), inputs);
    } catch (error) {
      return (error as { code: unknown }).code;
    }
    return inputs.map(({ grad }) => grad?.toArray() ?? null);
  };
  const expected = observe(fn);
  for (const partitionFn of [undefined, minCutRematerializationPartition]) {
    const options = { fwCompiler: graphs.compiler, ...(partitionFn && { partitionFn }) };
    expectClose(observe(aotFunction(fn, options)), expected);
  }
  return graphs;
}

describe('a backward pass through some of the results', () => {
  it('does not multiply gradients that never came with infinities', () => {
    // The derivative of sqrt at 0 is infinite.
    const graphs = expectAsEager(
      (x) => [x.mul(2), op('sqrt', x).mul(x)],
      [[0, 4]],
      ([first]) => first!.sum().backward(),
    );
    expect(graphs.print(1)).toMatchInlineSnapshot(`
      "export function forward(tangents_0: Tensor /* f64[2] */) {
        const mul_5 = aten.mul.Tensor(tangents_0, 2); // f64[2]
        return [mul_5];
      }
      "
    `);
  });

  it('puts zeros where a part of a gradient is missing', () => {
    expectAsEager(
      (x) => {
        const [first, second] = op('split.Tensor', x.exp(), 1, 0) as unknown as Tensor[];
        return [first!.sin(), second!.sin()];
      },
      [[1, 2]],
      ([, second]) => second!.sum().backward(),
    );
  });

  it('leaves inputs without a gradient that no result with one depends on', () => {
    expectAsEager(
      (x, y) => [x.exp(), y.exp()],
      [
        [1, 2],
        [3, 4],
      ],
      ([, second]) => second!.sum().backward(),
    );
  });

  it('ignores changes of values that only other results need', () => {
    expectAsEager(
      (x) => [x.sin(), x.exp()],
      [[1, 2]],
      ([first, second]) => {
        noGrad(() => second!.add_(1));
        first!.sum().backward();
      },
    );
  });

  it('leaves the other results to later passes where eager does', () => {
    const separate = (x: Tensor, y: Tensor): Results => [x.exp(), y.exp()];
    const shared = (x: Tensor): Results => [x.exp().sin(), x.exp().sum()];
    const common = (x: Tensor): Results => {
      const y = x.exp();
      return [y.sin(), y.sum()];
    };
    const linear = (x: Tensor): Results => {
      const y = x.add(1);
      return [y.sin(), y.sum()];
    };
    const both = (results: Results): void => results.forEach((result) => result.sum().backward());
    const twice = ([first]: Results): void => {
      const loss = first!.sum();
      loss.backward();
      loss.backward();
    };
    const data = [
      [1, 2],
      [3, 4],
    ];
    for (const fn of [separate, shared, common, linear]) {
      expectAsEager(fn, data, both);
      expectAsEager(fn, data, twice);
    }
  });

  it('for some inputs leaves the nodes of the others to later passes where eager does', () => {
    const apart = (x: Tensor, y: Tensor): Results => [x.exp().mul(y.sin())];
    const behind = (x: Tensor, y: Tensor): Results => [x.exp().sin().mul(y)];
    const updated = (x: Tensor, y: Tensor): Results => {
      x.mul_(0.25);
      return [x.mul(y), x];
    };
    const towards =
      (...order: number[]) =>
      (results: Results, inputs: readonly Tensor[]): void => {
        for (const i of order) {
          const loss = results.at(i < 0 ? -1 : 0)!.sum();
          if (i < 0) loss.backward();
          else grad(loss, [inputs[i]!]);
        }
      };
    const data = [
      [1, 2],
      [3, 4],
    ];
    for (const fn of [apart, behind, updated])
      for (const order of [
        [0, 1],
        [1, 0],
        [0, 0],
        [1, 1],
        [1, -1],
        [0, -1],
        [-1, 0],
      ])
        expectAsEager(fn, data, towards(...order));
  });

  it('lays out what is left of a sum as the sum was', () => {
    const fn = (x: Tensor): Results => {
      const y = x.exp().view([3, 2]);
      return [y.sum([1], { keepdim: true }), y.unsqueeze(1)];
    };
    for (const at of [0, 1])
      expectAsEager(fn, [[1, 2, 3, 4, 5, 6]], (results) => results[at]!.sum().backward());
  });

  it('compiles a graph for each set of results, once', () => {
    const { compiler, modules } = recording();
    const f = aotFunction((x: Tensor): Results => [x.sin(), x.exp()], { fwCompiler: compiler });
    const x = tensor([1, 2]).requiresGrad_();
    for (let i = 0; i < 2; i++) {
      const [a, b] = f(x);
      a!.sum().backward();
      b!.sum().backward();
      const [c, d] = f(x);
      c!.add(d!).sum().backward();
    }
    // The forward graph, each result alone, and both.
    expect(modules.length).toBe(4);
  });
});

describe('values that were saved', () => {
  const quotient = (x: Tensor, y: Tensor): Results => [x.div(y)];
  const data = [
    [1, 2],
    [3, 4],
  ];

  it('are not given up for inputs that have no part in the result', () => {
    const inputs = [
      [1, 2],
      [3, 4],
    ];
    expectAsEager(
      (x, y) => [x.mul(0.5), y.mul(3)],
      inputs,
      ([z], [, y]) => {
        expect(grad(z!.sum(), [y!], { allowUnused: true })).toEqual([null]);
        z!.sum().backward();
      },
    );
  });

  it('are those of the forward pass, if eager autograd would not have kept what was modified', () => {
    expectAsEager(quotient, data, ([z]) => {
      const loss = z!.sum();
      noGrad(() => z!.mul_(5));
      loss.backward();
    });
    expectAsEager(quotient, data, ([z]) => op('unsqueeze_', z!, 0).sum().backward());
  });

  it('must not have been modified, if eager autograd would have kept them', () => {
    const use = ([z]: Results): void => {
      noGrad(() => z!.mul_(5));
      z!.sum().backward();
    };
    expectAsEager((x) => [x.exp()], [[1, 2]], use);
  });

  it('survive a modification by another compiled function', () => {
    const { compiler } = recording();
    const f = aotFunction((x: Tensor, y: Tensor) => [x.div(y)], { fwCompiler: compiler });
    const g = aotFunction((x: Tensor) => x.mul_(10), { fwCompiler: compiler });
    const y = tensor([2, 4]).requiresGrad_();
    const [z] = f(tensor([1, 1]), y);
    const loss = z!.sum();
    noGrad(() => g(z!));
    loss.backward();
    expect(y.grad!.toArray()).toEqual([-0.25, -0.0625]);
  });
});
