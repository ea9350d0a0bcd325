/**
 * @file Counts of elements by bins of given ends on the CPU: as the reference kernel counts them, one element after another.
 */
import { type Tensor, cat, randn, tensor } from '@tessera/tensor';
import { emptyFromMeta, getOp, readNumbers } from '@tessera/tensor/internal';
import { beforeAll, expect, it } from 'vitest';
import { compile, observeCompilations, useHistograms } from '../src/index.js';

beforeAll(useHistograms);

/** The counts of the reference kernel. */
function counted(x: Tensor, bins: number, min: number, max: number): number[] {
  const op = getOp('aten::histc');
  const { meta, kernel } = op.record;
  const args = op.bind([x, bins, min, max]);
  const out = emptyFromMeta(meta!(args) as never);
  kernel!(args, [out]);
  return [...readNumbers(out)];
}

it.each([
  [10, -1, 1],
  [1, 0, 1],
  [100, -3, 3],
  [7, -0.3, 2.7],
  [1000, -2, 2],
])('%i bins from %f to %f', (bins, min, max) => {
  const histc = (x: Tensor): Tensor => x.histc({ bins, min, max });
  let graphs = 0;
  const stop = observeCompilations(() => graphs++);
  for (const n of [0, 1, 5, 100, 5000]) {
    const edges = tensor([min, max, (min + max) / 2, NaN, Infinity, -Infinity]);
    const x = cat([randn([n]), edges]);
    const wanted = counted(x, bins, min, max);
    expect([...readNumbers(histc(x))]).toEqual(wanted);
    expect([...readNumbers(compile(histc, { fullgraph: true })(x))]).toEqual(wanted);
  }
  stop();
  expect(graphs).toBeGreaterThan(0);
});

it('leaves to the reference kernel what it refuses, or counts in other digits', () => {
  const x = tensor([0.5, NaN]);
  const refused: [(t: Tensor) => Tensor, string][] = [
    [(t) => t.histc({ bins: 2 }), 'is not finite'],
    [(t) => t.histc({ bins: 2, min: 1, max: 0 }), 'max must be larger than min'],
  ];
  for (const [run, message] of refused)
    for (const fn of [run, compile(run)]) expect(() => fn(x)).toThrow(message);
  const double = x.double();
  expect(readNumbers(double.histc({ bins: 4, min: 0, max: 1 }))[2]).toBe(1);
});
