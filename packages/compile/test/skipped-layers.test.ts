/**
 * @file Optimizers whose parameters are updated unevenly: layers that are skipped at random (stochastic depth), experts
 * that are not asked, heads of tasks that a batch has not.
 */
import { Linear, optim } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, compiledFunctionOf } from '../src/index.js';

const layers = (): Linear[] => [0, 1, 2, 3].map(() => new Linear(3, 3));

/** A step of all layers, and one that leaves some out. */
function training(net: readonly Linear[]): {
  all: (x: Tensor) => void;
  some: (x: Tensor, skip: number) => void;
} {
  const optimizer = new optim.Adam(
    net.flatMap((layer) => layer.parameters()),
    { lr: 0.01 },
  );
  const step = (x: Tensor, skip: number): void => {
    optimizer.zeroGrad();
    net.forEach((layer, i) => {
      if (((skip >> i) & 1) === 0) x = layer.call(x).add(x);
    });
    x.square().mean().backward();
    optimizer.step();
  };
  return { all: compile((x: Tensor) => step(x, 0)), some: step };
}

it('a compiled step has a trace for every layer that was once behind the others, no more', () => {
  const net = layers();
  const { all, some } = training(net);
  const x = ones([2, 3]);
  all(x);
  // Counts differ and meet again, in ever other combinations.
  for (const skip of [1, 14, 2, 13, 4, 11, 8, 7, 3, 12, 5, 10, 6, 9, 15 - 1, 1, 6, 9]) {
    some(x, skip);
    all(x);
    all(x);
  }
  const { captures, reasons } = compiledFunctionOf(all);
  expect(captures.length).toBeLessThanOrEqual(4);
  // Other groups of tensors: no number of the optimizer is to blame.
  expect(reasons.join()).toContain('other tensors were passed to Adam.step');
});

it('and computes what eager computes', () => {
  const [a, b] = [layers(), layers()];
  b.forEach((layer, i) => layer.loadStateDict(a[i]!.stateDict()));
  const [compiled, eager] = [training(a), training(b)];
  const x = ones([2, 3]);
  for (const skip of [1, 14, 2, 13, 6, 9]) {
    for (const { some } of [compiled, eager]) some(x, skip);
    compiled.all(x);
    eager.some(x, 0);
  }
  a.forEach((layer, i) => expect(layer.weight.allclose(b[i]!.weight, { atol: 1e-6 })).toBe(true));
});
