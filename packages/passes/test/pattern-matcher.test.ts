import { type GraphModule, Node, getItem, makeFx } from '@tessera/graph';
import { counters } from '@tessera/shared';
import { type Tensor, getOp, ones, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  Arg,
  CallFunction,
  Ignored,
  KeywordArg,
  ListOf,
  type Match,
  MultiOutput,
  PatternMatcherPass,
  loweringOf,
  registerGraphPattern,
  registerLoweringPattern,
  registerReplacement,
} from '../src/index.js';
import { Hand, after } from './graph-tools.js';

/** Matches of a pattern in a graph, which stays as it is. */
function matches(
  module: GraphModule,
  ...patterns: Parameters<typeof registerGraphPattern>[0][]
): Match[] {
  const found: Match[] = [];
  const passes = new PatternMatcherPass();
  for (const pattern of patterns)
    registerGraphPattern(pattern, (match) => found.push(match), { passes });
  passes.apply(module);
  return found;
}

const trace = (fn: (...args: Tensor[]) => unknown, ...args: Tensor[]): GraphModule =>
  makeFx(fn as (...values: unknown[]) => unknown)(...args);

describe('patterns', () => {
  it('hand over holes in order and by name', () => {
    const module = trace((x, y) => x.mm(y).add(2), ones([2, 3]), ones([3, 2]));
    const [match] = matches(
      module,
      CallFunction('aten::add.Tensor', CallFunction('aten::mm', Arg(), KeywordArg('y')), Arg()),
    );
    expect(match!.args.map(String)).toEqual(['x', '2']);
    expect(String(match!.kwargs.y)).toBe('y');
    expect(match!.nodes.map(({ name }) => name)).toEqual(['mm', 'add']);
  });

  it('count users of inner calls, not of the outermost', () => {
    const module = trace(
      (x) => {
        const y = x.neg();
        return [y.relu(), y.sin(), y.relu().cos()];
      },
      ones([2]),
    );
    const pattern = (users: number | 'any'): ReturnType<typeof CallFunction> =>
      CallFunction('aten::relu', CallFunction('aten::neg', Arg(), { users }));
    expect(matches(module, pattern(1))).toHaveLength(0);
    expect(matches(module, pattern(3))).toHaveLength(2);
    expect(matches(module, pattern('any'))).toHaveLength(2);
  });

  it('compare constants, fill in defaults, and ignore what may be anything', () => {
    const module = trace((x) => [x.add(1), x.add(1, { alpha: 3 }), x.add(2)], ones([2]));
    expect(matches(module, CallFunction('aten::add.Tensor', Arg(), 1))).toHaveLength(1);
    expect(matches(module, CallFunction('aten::add.Tensor', Arg(), 1, 3))).toHaveLength(1);
    expect(
      matches(module, CallFunction('aten::add.Tensor', Arg(), Ignored(), Ignored())),
    ).toHaveLength(3);
  });

  it('bind one name, and one pattern object, to one value', () => {
    const module = trace(
      (x, y) => [x.mul(x), x.mul(y), x.neg().mul(x.sin())],
      ones([2]),
      ones([2]),
    );
    const twice = CallFunction('aten::mul.Tensor', KeywordArg('a'), KeywordArg('a'));
    expect(matches(module, twice)).toHaveLength(1);
    const shared = CallFunction('aten::neg', Arg(), { users: 2 });
    const square = CallFunction('aten::mul.Tensor', shared, shared);
    expect(
      matches(
        trace((x) => x.neg().mul(x.neg()), ones([2])),
        square,
      ),
    ).toHaveLength(0);
    const hand = new Hand();
    const neg = hand.call('neg', hand.input('x', [2]));
    const cube = CallFunction(
      'aten::mul.Tensor',
      CallFunction('aten::neg', Arg(), { users: 1 }),
      Ignored(),
    );
    const module2 = hand.output(hand.call('mul.Tensor', neg, neg));
    expect(matches(module2, cube)).toHaveLength(1);
  });

  it('match lists item by item', () => {
    const join = trace(
      (x, y) => [x.neg(), y.neg()].reduce((a, b) => a.add(b)),
      ones([2]),
      ones([2]),
    );
    expect(matches(join, CallFunction('aten::neg', Arg()))).toHaveLength(2);
    const hand = new Hand();
    const [x, y] = [hand.input('x', [2]), hand.input('y', [2])];
    const cat = hand.output(hand.call('cat', [hand.call('neg', x), hand.call('sin', y)], 0));
    const negs = CallFunction('aten::neg', Arg());
    expect(matches(cat, CallFunction('aten::cat', ListOf(negs)))).toHaveLength(0);
    const [partial] = matches(cat, CallFunction('aten::cat', ListOf(negs, { partial: true })));
    expect(partial!.args).toEqual([[x]]);
  });

  it('find several outputs that hang together', () => {
    const module = trace((x) => [x.exp().sin(), x.exp().cos()], ones([2]));
    const exp = CallFunction('aten::exp', KeywordArg('x'), { users: 1 });
    expect(
      matches(
        module,
        MultiOutput([CallFunction('aten::sin', exp), CallFunction('aten::cos', exp)]),
      ),
    ).toHaveLength(0);
    const shared = CallFunction('aten::exp', KeywordArg('x'), { users: 2 });
    const both = MultiOutput([
      CallFunction('aten::sin', shared),
      CallFunction('aten::cos', shared),
    ]);
    const one = trace(
      (x) => {
        const e = x.exp();
        return [e.sin(), e.cos()];
      },
      ones([2]),
    );
    expect(matches(one, both)[0]!.outputs.map(String)).toEqual(['sin', 'cos']);
  });

  it('do not reach across writes', () => {
    const module = trace(
      (x) => {
        const y = x.neg();
        x.mul_(2);
        return y.relu();
      },
      ones([2]),
    );
    const pattern = CallFunction('aten::relu', CallFunction('aten::neg', Arg()));
    expect(matches(module, pattern)).toHaveLength(0);
  });

  it('count matches and the calls in them, and honour the extra check', () => {
    const module = trace((x) => x.neg().relu(), ones([2]));
    const pattern = CallFunction('aten::relu', CallFunction('aten::neg', Arg()));
    counters.clear('inductor');
    const passes = new PatternMatcherPass('two');
    registerGraphPattern(pattern, () => {}, { passes, extraCheck: () => false });
    expect(passes.run(module)).toBe(false);
    registerGraphPattern(pattern, () => {}, { passes });
    expect(passes.run(module)).toBe(true);
    expect(counters.get('inductor')).toEqual({
      pattern_matcher_count: 1,
      pattern_matcher_nodes: 2,
    });
  });
});

describe('registerLoweringPattern', () => {
  it('leaves one node that a code generator can lower', () => {
    const passes = new PatternMatcherPass();
    registerLoweringPattern(
      CallFunction('aten::relu', CallFunction('aten::neg', Arg())),
      (lowering, [x]) => lowering.call('aten::relu', [lowering.call('aten::neg', [x])]),
      { passes, name: 'neg_relu' },
    );
    const module = trace((x) => x.neg().relu(), ones([2]));
    passes.apply(module);
    module.lint();
    expect(module.print().replaceAll(/neg_relu_\d+/g, 'neg_relu_N')).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const neg_relu_N_result = neg_relu_N([x], {  }); // f32[2]
        return neg_relu_N_result;
      }
      "
    `);
    const [call] = module.graph.nodes.filter(({ op }) => op === 'call_function');
    const calls: unknown[] = [];
    loweringOf(call!.target as never)!(
      { call: (op, args) => calls.push([op, args]) },
      call!.args[0] as unknown[],
      {},
    );
    expect(calls).toEqual([
      ['aten::neg', [call!.args[0]![0 as never]]],
      ['aten::relu', [1]],
    ]);
  });
});

describe('registerReplacement', () => {
  const passes = new PatternMatcherPass();
  const example = (): Tensor => randn([3, 5]);
  registerReplacement(
    (x: Tensor) => x.mul(x.sigmoid()),
    (x: Tensor) => x.silu(),
    [example()],
    { passes },
  );
  registerReplacement(
    (x: Tensor, y: Tensor, factor: number) => x.add(y).mul(factor),
    (x: Tensor, y: Tensor, factor: number) => x.mul(factor).add(y.mul(factor)),
    [example(), example()],
    { passes, scalars: [0.113377] },
  );

  it('puts what one function computes in the place of another, for any shapes and numbers', () => {
    const module = trace((x, y) => x.mul(x.sigmoid()).add(y).mul(7), ones([2, 4]), ones([4]));
    expect(after(module, [passes], [randn([2, 4]), randn([4])])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 4] */, y: Tensor /* f32[4] */) {
        const silu = aten.silu.default(x); // f32[2, 4]
        const mul_2 = aten.mul.Tensor(silu, 7); // f32[2, 4]
        const mul_1_1 = aten.mul.Tensor(y, 7); // f32[4]
        const add_1 = aten.add.Tensor(mul_2, mul_1_1, 1); // f32[2, 4]
        return add_1;
      }
      "
    `);
  });

  it('does not touch what is computed with other constants', () => {
    const only = new PatternMatcherPass();
    registerReplacement(
      (x: Tensor) => x.mul(2),
      (x: Tensor) => x.add(x),
      [example()],
      { passes: only },
    );
    expect(only.apply(trace((x) => x.mul(3), ones([2])))).toBe(0);
    expect(only.apply(trace((x) => x.mul(2), ones([2])))).toBe(1);
  });

  it('replaces several outputs', () => {
    const pair = new PatternMatcherPass();
    registerReplacement(
      (x: Tensor) => {
        const e = x.exp();
        return [e.sin(), e.cos()];
      },
      (x: Tensor) => [x.sin(), x.cos()],
      [example()],
      { passes: pair },
    );
    const module = trace(
      (x) => {
        const e = x.exp();
        return [e.sin().neg(), e.cos()];
      },
      ones([2]),
    );
    pair.apply(module);
    module.lint();
    expect(module.print()).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2] */) {
        const sin_1 = aten.sin.default(x); // f32[2]
        const cos_1 = aten.cos.default(x); // f32[2]
        const neg = aten.neg.default(sin_1); // f32[2]
        return [neg, cos_1];
      }
      "
    `);
  });

  it('works on graphs written by hand', () => {
    const hand = new Hand();
    const x = hand.input('x', [4]);
    const module = hand.output(hand.call('mul.Tensor', x, hand.call('sigmoid', x)));
    expect(after(module, [passes], [randn([4])])).toContain('aten.silu.default(x)');
    expect(
      module.graph.nodes.some(
        ({ target }) => target === getItem || target === getOp('aten::mul.Tensor'),
      ),
    ).toBe(false);
    expect(module.graph.nodes.every((node) => node instanceof Node)).toBe(true);
  });
});
