import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  allclose,
  fromTypedArray,
  grad,
  manualSeed,
  ones,
  randn,
  stack,
  tensor,
  unbind,
} from '../src/index.js';
import { vmap } from '../src/func/index.js';
import { ctcAlphas } from '../src/internal.js';

const REACH = [
  [0, 1, 1, 2, 1, 1],
  [0, 1, 1, 1, 1, 2],
];
const reach = (): Tensor => tensor(REACH, { dtype: 'float64' });

/** Likelihoods of all ways to each state, one by one. */
function oneByOne(logProbs: number[][][]): number[][][] {
  let before: number[][] = REACH.map((row) => row.map((_, s) => (s === 0 ? 1 : 0)));
  return logProbs.map((ofStep) => {
    before = ofStep.map((row, n) =>
      row.map((logProb, s) => {
        let sum = 0;
        for (let back = 0; back <= REACH[n]![s]!; back++) sum += before[n]![s - back]!;
        return sum * Math.exp(logProb);
      }),
    );
    return before;
  });
}

describe('the forward variables of CTC as one op', () => {
  it('are likelihoods over all ways to a state', () => {
    manualSeed(1);
    const logProbs = randn([5, 2, 6], { dtype: 'float64' }).sub(1);
    const found = ctcAlphas(logProbs, reach()).exp();
    const wanted = tensor(oneByOne(logProbs.toArray() as number[][][]), { dtype: 'float64' });
    expect(allclose(found, wanted, { rtol: 1e-12, atol: 1e-300 })).toBe(true);
  });

  it('have gradients, and gradients of gradients, as differences of values say', () => {
    manualSeed(2);
    const x = randn([4, 2, 6], { dtype: 'float64' }).requiresGrad_();
    const weights = randn([4, 2, 6], { dtype: 'float64' });
    const loss = (given: Tensor): Tensor => ctcAlphas(given, reach()).exp().mul(weights).sum();
    const slope = (given: Tensor, createGraph: boolean): Tensor =>
      grad(loss(given), [given], { createGraph })[0]!;
    const plain = slope(x, false);
    const composed = slope(x, true);
    expect(allclose(plain, composed, { rtol: 1e-10, atol: 1e-12 })).toBe(true);
    const way = randn(x.sizes, { dtype: 'float64' });
    const h = 1e-6;
    const at = (by: number): Tensor => x.detach().add(way.mul(by)).requiresGrad_();
    const rise = loss(at(h))
      .sub(loss(at(-h)))
      .div(2 * h);
    expect(rise.sub(plain.mul(way).sum()).abs().item()).toBeLessThan(1e-7);
    const second = grad(composed.mul(weights).sum(), [x])[0]!;
    const bend = slope(at(h), false)
      .sub(slope(at(-h), false))
      .mul(weights)
      .sum()
      .div(2 * h);
    expect(bend.sub(second.mul(way).sum()).abs().item()).toBeLessThan(1e-6);
  });

  it('are finite where nothing is possible, and so are their gradients', () => {
    const x = fromTypedArray(new Float32Array(2 * 12).fill(-1), [2, 2, 6]).requiresGrad_();
    const alphas = ctcAlphas(x, tensor(REACH, { dtype: 'float32' }));
    expect(alphas.isfinite().all().item()).toBe(1);
    // After two steps the fourth state may be the second one's next.
    expect(alphas.select(0, 1).select(0, 0).gt(-1e29).toArray()).toEqual([
      ...[true, true, true, true, false, false],
    ]);
    grad(alphas.select(0, 1).select(1, 0).sum(), [x]).forEach((slope) =>
      expect(slope!.isfinite().all().item()).toBe(1),
    );
  });

  it('take the rows of all examples of a vmap', () => {
    manualSeed(3);
    const x = randn([3, 4, 2, 6]);
    const back = reach().to('float32');
    const wanted = stack(unbind(x, 0).map((each) => ctcAlphas(each, back)));
    expect(allclose(vmap((each: Tensor) => ctcAlphas(each, back))(x), wanted)).toBe(true);
  });

  it('say which sizes do not fit', () => {
    expect(() => ctcAlphas(ones([3, 2, 6]), ones([2, 5]))).toThrow(
      /log-probabilities \[3, 2, 6\] and reach \[2, 5\] do not fit/,
    );
  });
});
