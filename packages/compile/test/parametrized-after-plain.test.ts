/**
 * @file One compiled function for a plain module and for one whose weight is computed by a getter: saying why a capture of
 * the one does not fit the other runs no getter, and its buffers move as in eager code.
 */
import { Linear, type TensorModule, cloneModule, parametrize } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile } from '../src/index.js';

const PARAMETRIZE = {
  spectralNorm: (layer: Linear) => parametrize.spectralNorm(layer),
  weightNorm: (layer: Linear) => parametrize.weightNorm(layer),
  orthogonal: (layer: Linear) => parametrize.orthogonal(layer),
};

it.each(Object.entries(PARAMETRIZE))('%s', (_, parametrized) => {
  manualSeed(1);
  const modules = [new Linear(4, 4), parametrized(new Linear(4, 4)), new Linear(4, 4)];
  const own = modules.map((module) => cloneModule(module));
  const x = randn([3, 4]);
  const run = (module: TensorModule, t: Tensor): Tensor => module.call(t).mul(2);
  const compiled = compile(run);
  for (let i = 0; i < 3; i++)
    modules.forEach((module, k) => {
      const [want, got] = [run(own[k]!, x), compiled(module, x)];
      expect(got.sub(want).abs().max().item()).toBeLessThan(1e-5);
      const buffers = own[k]!.buffers();
      module
        .buffers()
        .forEach((t, b) => expect(t.sub(buffers[b]!).abs().max().item()).toBeLessThan(1e-5));
    });
});
