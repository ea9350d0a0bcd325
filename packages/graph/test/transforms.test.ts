import { type Tensor, getOp, manualSeed, ones, rand, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  Graph,
  GraphModule,
  type HostFunction,
  graphFromJson,
  graphToJson,
  makeFx,
  parameterNames,
  splitModule,
  symbolicTrace,
  tensorVal,
} from '../src/index.js';

describe('symbolicTrace', () => {
  it('records ops without shapes', () => {
    const w = tensor([3]);
    const module = symbolicTrace((x, y) => [x.mul(y), x.mul(w).neg()]);
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor, y: Tensor) {
        const mul = aten.mul.Tensor(x, y);
        const _tensor_constant0 = self._tensor_constant0;
        const mul_1 = aten.mul.Tensor(x, _tensor_constant0);
        const neg = aten.neg.default(mul_1);
        return [mul, neg];
      }
      "
    `);
    const [a, b] = module.forward(tensor([1, 2]), tensor([5, 5])) as Tensor[];
    expect([a.toArray(), b.toArray()]).toEqual([
      [5, 10],
      [-3, -6],
    ]);
  });

  it('says what it does not know', () => {
    expect(() => symbolicTrace((x) => x.mul(x.sizes[0]))).toThrow(
      /the sizes of 'x' is not known[^]*makeFx/,
    );
  });
});

describe('splitModule', () => {
  function fourOps(): GraphModule {
    const w = tensor([1, 1]);
    return makeFx((x: Tensor) => {
      const a = x.mul(2);
      const b = a.add(w);
      const c = b.neg();
      return [c.mul(a), b];
    })(tensor([1, 2]));
  }

  it('calls one submodule per partition', () => {
    const module = fourOps();
    let count = 0;
    const split = splitModule(module, () => Math.floor(count++ / 2));
    split.lint();
    expect(split.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const submod_0 = self.submod_0(x);
        const getitem = getItem(submod_0, 0); // f32[2]
        const getitem_1 = getItem(submod_0, 1); // f32[2]
        const submod_1 = self.submod_1(getitem, getitem_1); // f32[2]
        return [submod_1, getitem];
      }
      "
    `);
    expect((split.getAttribute('submod_1') as GraphModule).print()).toMatchInlineSnapshot(`
      "export function forward(add: Tensor /* f32[2] */, mul: Tensor /* f32[2] */) {
        const neg = aten.neg.default(add); // f32[2]
        const mul_1 = aten.mul.Tensor(neg, mul); // f32[2]
        return mul_1;
      }
      "
    `);
    const x = tensor([3, 4]);
    const values = (m: GraphModule): unknown => (m.forward(x) as Tensor[]).map((t) => t.toArray());
    expect(values(split)).toEqual(values(module));
  });

  it.each<[string, (x: Tensor) => unknown]>([
    [
      'a read behind a write',
      (x) => {
        const y = x.mul(2);
        const before = y.exp();
        y.add_(1);
        return [before, y.neg()];
      },
    ],
    [
      'a write through a view',
      (x) => {
        const y = x.mul(2);
        const sum = y.sum();
        y.view([2]).slice(0, 0, 1).mul_(5);
        return [sum.add(1), y.sum()];
      },
    ],
    [
      'writes to an input',
      (x) => {
        const before = x.mul(1);
        x.mul_(3);
        const between = x.mul(1);
        x.add_(1);
        return [before, between, x.mul(1)];
      },
    ],
    [
      'random draws',
      (x) => {
        const a = rand([2]);
        const b = rand([2]);
        return [b.sub(x), a.sub(b)];
      },
    ],
  ])('keeps the order of %s', (_, program) => {
    const results = (module: GraphModule): unknown => {
      manualSeed(5);
      const x = tensor([1, 2]);
      return [...(module.forward(x) as Tensor[]), x].map((t) => t.toArray());
    };
    const module = makeFx(program)(tensor([1, 2]));
    for (const size of [1, 2, 3]) {
      let count = 0;
      const split = splitModule(module, () => Math.floor(count++ / size));
      expect(results(split)).toEqual(results(module));
    }
  });

  it('reports partitions that depend on each other', () => {
    let count = 0;
    expect(() => splitModule(fourOps(), () => (count++ === 1 ? 'b' : 'a'))).toThrow(
      /depend on each other in a circle/,
    );
  });
});

describe('JSON', () => {
  it('restores nodes, numbers, metadata and aliasing', () => {
    const module = makeFx((x: Tensor) => x.permute([1, 0]).mul(-0).add(Infinity))(ones([2, 3]));
    const json = JSON.parse(JSON.stringify(graphToJson(module.graph))) as ReturnType<
      typeof graphToJson
    >;
    const graph = graphFromJson(json);
    expect(new GraphModule([], graph).print()).toBe(module.print());
    expect(Object.is(graph.nodes[2].args[1], -0)).toBe(true);
    expect(graph.nodes[2].target).toBe(getOp('aten::mul.Tensor'));
    expect(tensorVal(graph.nodes[1])?.storage).toBe(tensorVal(graph.nodes[0])?.storage);
    expect(graphToJson(graph)).toEqual(json);
  });

  it('rejects functions without a registered name and unknown ops', () => {
    const graph = new Graph();
    graph.output(graph.callFunction((() => 1) as HostFunction, [], 'anonymous'));
    expect(() => graphToJson(graph)).toThrow(/has no registered name/);
    const unknown = {
      version: 1 as const,
      storages: [],
      nodes: [
        {
          name: 'a',
          op: 'call_function' as const,
          target: { op: 'aten::no_such' },
          args: [],
          meta: {},
        },
      ],
    };
    expect(() => graphFromJson(unknown)).toThrow(/no operator aten::no_such/);
  });
});

describe('parameterNames', () => {
  it.each<[string, (...args: never[]) => unknown, (string | null)[]]>([
    ['arrow', (a: number, b: number) => a + b, ['a', 'b']],
    ['single', new Function('return x => x')() as () => unknown, ['x']],
    [
      'defaults',
      new Function('return function f(a = ")", b = [1, 2], /* c, */ d) {}')() as () => unknown,
      ['a', 'b', 'd'],
    ],
    [
      'destructuring and rest',
      new Function('return async ({ a, b }, [c], ...rest) => 1')() as () => unknown,
      [null, null, '...rest'],
    ],
    [
      'method',
      {
        m(q: number): number {
          return q;
        },
      }.m,
      ['q'],
    ],
    ['none', () => 1, []],
  ])('reads %s', (_, fn, expected) => {
    expect(parameterNames(fn)).toEqual(expected);
  });

  it('gives a parameter that shadows an outer name the name it has in the source', () => {
    const x = 1;
    const rows = [2];
    const fn = (x: number, ...rows: number[]): number => x + rows.length;
    const keyed = (x: number): { x: number } => ({ x });
    expect(x + rows.length).toBe(2);
    expect(parameterNames(fn)).toEqual(['x', '...rows']);
    expect(parameterNames(keyed)).toEqual(['x']);
  });

  it.each([
    ['(x1, x2) => x1 + x2', ['x1', 'x2']],
    ['(x2) => x + x2', ['x2']],
    ['(w2, b) => w2', ['w', 'b']],
    ['(conv10) => conv10.conv', ['conv']],
  ])('takes names of %s for renamed only where they can be', (text, expected) => {
    expect(parameterNames(new Function(`return ${text}`)() as () => unknown)).toEqual(expected);
  });
});
