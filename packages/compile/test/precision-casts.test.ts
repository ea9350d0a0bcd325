import { type Tensor, addmm, arange } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const CHAINS: Readonly<Record<string, (x: Tensor, y: Tensor) => Tensor>> = {
  'pointwise operators': (x, y) => x.mul(y).add(x).div(3).sub(y.mul(0.7)).exp().mul(x),
  'what a view shows': (x, y) => x.mul(y).t().add(0.1).mul(x.mul(1.1).t()),
  'a reduction that is used again': (x, y) => x.sub(x.mul(y).mean(1, { keepdim: true })).mul(1.3),
  'a product that something is added to': (x, y) => x.matmul(y.t()).add(x.select(1, 0)).mul(3),
  'a scaled product that something is added to': (x, y) =>
    x.matmul(y.t()).mul(0.7).add(x.select(1, 0)),
  'a batch of products': (x, y) =>
    x.unsqueeze(0).bmm(y.t().unsqueeze(0)).add(x.select(1, 0)).squeeze(0),
  'addmm and what follows it': (x, y) => addmm(x.select(1, 0), x, y.t()).mul(1.3).tanh(),
  'small values': (x, y) => x.mul(1e-4).mul(y).mul(1e-2).mul(1e4),
};

describe.each(['float16', 'bfloat16'] as const)('emulatePrecisionCasts with %s', (dtype) => {
  const made = (scale: number): Tensor => arange(0, 96).mul(scale).sin().reshape([8, 12]).to(dtype);
  const values = (t: Tensor): unknown => t.to('float32').toArray();
  const run = (fn: (x: Tensor, y: Tensor) => Tensor): unknown => values(fn(made(0.37), made(1.9)));

  it.each(Object.entries(CHAINS))('agrees with eager bit for bit: %s', (_, chain) => {
    config.patch({ 'inductor.emulatePrecisionCasts': true }, () => {
      expect(run(compile(chain))).toEqual(run(chain));
    });
  });

  it('rounds only what is stored by default', () => {
    expect(run(compile(CHAINS['pointwise operators']!))).not.toEqual(
      run(CHAINS['pointwise operators']!),
    );
  });

  it('agrees in gradients', () => {
    const slopes = (fn: (x: Tensor, y: Tensor) => Tensor): unknown => {
      const [x, y] = [made(0.37).requiresGrad_(), made(1.9).requiresGrad_()];
      fn(x, y).sum().backward();
      return [values(x.grad!), values(y.grad!)];
    };
    const product = (x: Tensor, y: Tensor): Tensor => x.mul(y).add(x).mul(y.mul(0.7));
    config.patch({ 'inductor.emulatePrecisionCasts': true }, () => {
      expect(slopes(compile(product))).toEqual(slopes(product));
    });
  });
});
