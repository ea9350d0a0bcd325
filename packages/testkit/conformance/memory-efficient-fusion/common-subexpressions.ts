/**
 * @file What common subexpression elimination removes, and what it must not.
 */
import { compile } from '@tessera/compile';
import {
  Graph,
  GraphModule,
  eliminateDeadCode,
  emitOp,
  makeFx,
  symbolicTrace,
} from '@tessera/graph';
import { functional as F } from '@tessera/nn';
import { fxGraphCse } from '@tessera/passes';
import {
  type DType,
  type Tensor,
  cat,
  full,
  getOp,
  manualSeed,
  ones,
  onesLike,
  rand,
  randLike,
  randn,
} from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounter, assertClose } from '../../src/index.js';

/** How many nodes a row expects to lose; null for any number. */
type Delta = number | null;

/** Eliminates and compares; random graphs are compared from the same seed. */
function checkGraph(module: GraphModule, input: Tensor | null, delta: Delta): void {
  const run = (): unknown => {
    manualSeed(3);
    return input === null ? null : module.forward(input);
  };
  const before = module.graph.nodes.length;
  const expected = run();
  const removed = fxGraphCse(module);
  module.lint();
  expect(before - module.graph.nodes.length).toBe(removed);
  if (delta !== null) expect(removed).toBe(delta);
  const actual = run();
  assertClose(actual, expected, { rtol: 0, atol: 0 });
  expect(fxGraphCse(module), 'a second elimination finds nothing').toBe(0);
}

function check(fn: (x: Tensor) => Tensor | null, delta: number): void {
  manualSeed(5);
  const input = randn([2, 2]);
  checkGraph(makeFx(fn)(input), input, delta);
}

/** Nothing is computed twice. */
export function nothingToMerge(): void {
  check((x) => {
    const a = x.add(1);
    const b = x.add(a);
    return b.add(x.add(x));
  }, 0);
}

/** A function that does nothing. */
export function emptyFunction(): void {
  check(() => null, 0);
}

/** Two draws in the shape of a tensor are two draws. */
export function drawsLikeTensor(): void {
  check((x) => randLike(x).add(randLike(x)), 0);
}

/** Two draws of a shape are two draws. */
export function drawsOfShape(): void {
  check(() => randn([4]).add(randn([4])), 0);
}

/**
 * Calls that differ in the type of a literal alone stay apart. In each pair both results are used inside, so
 * that nothing else keeps the two from merging; where the literals agree, they do merge.
 *
 * JavaScript has one 1: a fill's integer and float differ in what was recorded for their results, integer and
 * truth value in the literal's type, and the two zeros in their sign.
 */
export function integersAndFloats(): void {
  const counter = new CompileCounter();
  const scaled = (input: Tensor, size: number): Tensor => {
    const last = input.size(-1) - 1;
    const scale = last / (size - 1);
    return input.clamp(0, last).mul(scale);
  };
  const input = rand([3, 100]);
  assertClose(
    compile(scaled, { backend: counter.backend, dynamic: true } as never)(input, 50),
    scaled(input, 50),
  );
  expect(counter.graphs.length).toBe(1);
  checkGraph(counter.graphs[0]!, input, 0);

  const zeros = (a: number, b: number) => (x: Tensor) =>
    x.mul(a).reciprocal().add(x.mul(b).reciprocal());
  const fills = (a: number | boolean, b: number | boolean) => (x: Tensor) =>
    full([2, 2], a as number)
      .add(full([2, 2], b as number))
      .add(x);
  for (const [fn, delta] of [
    [zeros(0, -0), 0],
    [zeros(-0, 0), 0],
    [zeros(-0, -0), 2],
    [fills(1, true), 0],
    [fills(true, 1), 0],
    [fills(1, 1), 1],
  ] as const) {
    check(fn, delta);
    // What compiles the function eliminates too, in its graphs and in its kernels.
    const x = randn([2, 2]);
    assertClose(compile(fn)(x), fn(x), { rtol: 0, atol: 0 });
  }

  for (const [dtypes, delta] of [
    [['int64', 'float32'], 0],
    [['float32', 'float64'], 0],
    [['float32', 'float32'], 1],
  ] as const)
    checkGraph(sumOfFills(dtypes), null, delta);
}

/** Two fills of the same literal, whose recorded results alone say which dtype each has. */
function sumOfFills(dtypes: readonly DType[]): GraphModule {
  const graph = new Graph();
  const [a, b] = dtypes.map((dtype) => {
    const node = graph.callFunction(getOp('aten::full'), [[2], 1, null, null, null, null]);
    node.meta.val = ones([2], { dtype });
    return node;
  });
  graph.output([emitOp(graph, getOp('aten::add.Tensor'), [a!, b!, 1])]);
  return new GraphModule([], graph);
}

/** Sums over the same dimension merge if both keep it or neither does. */
export function sameArgumentsMerge(): void {
  check((x) => {
    const a = x.sum(1);
    const b = x.sum(1, { keepdim: true });
    const c = x.sum(1, { keepdim: true });
    const d = x.sum(1);
    return a.add(b).add(c).add(d);
  }, 2);
}

/** Four equal ops become one. */
export function manyMerge(): void {
  check((x) => {
    const [a, b, c, d] = [x.sum(), x.sum(), x.sum(), x.sum()];
    return a.add(b).add(c).add(d);
  }, 3);
}

/** Arguments that are lists of tensors are compared by what they hold. */
export function listsAreCompared(): void {
  check((x) => cat([x, x]).add(cat([x, x])), 1);
}

/** Optional arguments are compared too. */
export function optionsAreCompared(): void {
  check((x) => onesLike(x).add(onesLike(x)), 1);
}

/** Thirty random programs of a hundred ops never grow. */
export function randomProgramsNeverGrow(): void {
  let state = 12345;
  const pick = (n: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
  const ops = [
    (x: Tensor): Tensor => x.clone(),
    (x: Tensor): Tensor => x.cos(),
    (x: Tensor): Tensor => x.tanh(),
    (x: Tensor): Tensor => F.gelu(x),
  ];
  const input = randn([2, 2]);
  for (let round = 0; round < 30; round++) {
    const module = symbolicTrace((x: Tensor) => {
      const values = [x];
      for (let i = 0; i < 100; i++)
        values.push(ops[pick(ops.length)]!(values[pick(values.length)]!));
      return values.at(-1)!;
    });
    eliminateDeadCode(module.graph);
    const before = module.graph.nodes.length;
    checkGraph(module, input, null);
    expect(module.graph.nodes.length).toBeLessThanOrEqual(before);
  }
}
