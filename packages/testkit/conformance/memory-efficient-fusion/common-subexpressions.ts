/**
 * @file What common subexpression elimination removes, and what it must not.
 */
import { compile } from '@tessera/compile';
import { Graph, GraphModule, eliminateDeadCode, makeFx, symbolicTrace } from '@tessera/graph';
import { functional as F } from '@tessera/nn';
import { fxGraphCse } from '@tessera/passes';
import {
  type Tensor,
  cat,
  getOp,
  isTensor,
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
  if (isTensor(expected)) assertClose(actual as Tensor, expected, { rtol: 0, atol: 0 });
  else expect(actual).toEqual(expected);
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

/** 1 as an integer and 1 as a float are different constants, in captured graphs and in any other. */
export function integersAndFloats(): void {
  const counter = new CompileCounter();
  const fn = (input: Tensor, size: number): Tensor => {
    const last = input.size(-1) - 1;
    const scale = last / (size - 1);
    return input.clamp(0, last).mul(scale);
  };
  const input = rand([3, 100]);
  assertClose(
    compile(fn, { backend: counter.backend, dynamic: true } as never)(input, 50),
    fn(input, 50),
  );
  expect(counter.graphs.length).toBe(1);
  checkGraph(counter.graphs[0]!, null, 0);

  const graph = new Graph();
  const fill = getOp('aten::full');
  const [whole, real] = (['int64', 'float32'] as const).map((dtype) => {
    const node = graph.callFunction(fill, [[2], 1, null, null, null, null]);
    node.meta.val = ones([2], { dtype });
    return node;
  });
  graph.output([whole!, real!]);
  checkGraph(new GraphModule([], graph), null, 0);
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
