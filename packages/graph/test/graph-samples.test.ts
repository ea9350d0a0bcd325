/**
 * @file Graphs at sizes at which they were not made are those that tracing makes.
 */
import { type Tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type GraphModule, GraphSamples, makeFx } from '../src/index.js';

type Program = (x: Tensor, n: number) => Tensor | Tensor[];

const traced = (program: Program, n: number, sizes: readonly number[]): GraphModule =>
  makeFx((x: Tensor) => program(x, n), { tracingMode: 'fake' })(zeros(sizes));

const printed = (module: GraphModule): string => module.print();

const PROGRAMS: Readonly<
  Record<string, { readonly of: Program; readonly sizes: (n: number) => readonly number[] }>
> = {
  'views and sums': {
    of: (x, n) => x.reshape([n, 2, 3]).transpose(0, 1).mul(2).sum(1).add(n),
    sizes: (n) => [n, 6],
  },
  'parts in lists': {
    of: (x) => x.split([2, 4], 1).map((part) => part.exp().mean(0)),
    sizes: (n) => [n, 6],
  },
  'a graph that sees four times the size': {
    of: (x, n) => x.view([n, 4]).transpose(0, 1).contiguous().mul(3),
    sizes: (n) => [4 * n],
  },
  'the same graph at all sizes': { of: (x) => x.mul(2), sizes: () => [5] },
  'sizes that no input has': { of: (x, n) => x.sum().expand([n, 3]).mul(2), sizes: () => [5] },
};

describe('samples of graphs', () => {
  it.each(Object.entries(PROGRAMS))('say what a graph is: %s', (_, { of, sizes }) => {
    const samples = new GraphSamples();
    let last = null;
    for (const n of [8, 5, 13, 3, 20]) last = samples.add(traced(of, n, sizes(n)), [0, n]);
    for (const n of [7, 2, 64]) {
      const at = last!.at([0, n])!;
      const wanted = traced(of, n, sizes(n));
      expect(printed(at.module())).toBe(printed(wanted));
      expect(at.isFixed).toBe(printed(wanted) === printed(traced(of, 8, sizes(8))));
      expect(at.inputAt(0)).toMatchObject({ sizes: sizes(n), dtype: 'float32', device: 'cpu' });
    }
    // Tracers give a size of 1 no symbol.
    if (last!.at([0, 7])?.isFixed !== true) expect(last!.at([0, 1])).toBeNull();
  });

  it('say nothing of operators that may do something else, or with too few samples', () => {
    const samples = new GraphSamples();
    const multiplied: Program = (x) => x.cumprod(0);
    for (const n of [8, 5, 13, 3, 20])
      expect(samples.add(traced(multiplied, n, [n]), [0, n])).toBeNull();
    const few = new GraphSamples();
    few.add(
      traced((x) => x.exp(), 4, [4]),
      [0, 4],
    );
    expect(
      few
        .add(
          traced((x) => x.exp(), 6, [6]),
          [0, 6],
        )!
        .at([0, 9]),
    ).toBeNull();
  });
});
