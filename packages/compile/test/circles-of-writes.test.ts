/**
 * @file Inputs that get values made of each other's old contents, in a circle, beside others that the circle reads or that
 * read it: each order of the arguments compiles, and to eager code's values.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile } from '../src/index.js';

type Four = [Tensor, Tensor, Tensor, Tensor];

/** Of tensors at places in `args`: b and c swap; a is read by b, and d reads c. */
function exchange(args: Four, [a, b, c, d]: readonly number[]): void {
  // In the order of the arguments, which the graph's inputs get.
  const old = args.map((t) => t.neg());
  const next = new Map([
    [a!, old[a!]!],
    [b!, old[c!]!.add(old[a!]!)],
    [c!, old[b!]!.mul(3)],
    [d!, old[c!]!.add(old[d!]!)],
  ]);
  args.forEach((t, i) => t.copy_(next.get(i)!));
}

const ORDERS = [0, 1, 2, 3].flatMap((a) =>
  [0, 1, 2, 3].flatMap((b) =>
    [0, 1, 2, 3].flatMap((c) =>
      [0, 1, 2, 3].filter((d) => new Set([a, b, c, d]).size === 4).map((d) => [a, b, c, d]),
    ),
  ),
);

it.each(ORDERS)('with the arguments in the order %i %i %i %i', (...order) => {
  const run = (...args: Four): void => exchange(args, order);
  const make = (): Four => [1, 2, 3, 4].map((v) => tensor([v, v + 0.5])) as unknown as Four;
  const [want, got] = [make(), make()];
  const compiled = compile(run);
  for (let i = 0; i < 2; i++) {
    run(...want);
    compiled(...got);
    expect(got.map((t) => t.toArray())).toEqual(want.map((t) => t.toArray()));
  }
});
