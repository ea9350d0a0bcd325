/**
 * @file `cpu.kernels: 'reference'`: programs that may not make WebAssembly code compute all the same.
 */
import { Linear, functional as F, optim } from '@tessera/nn';
import { type Tensor, arange, manualSeed, randn, tensor } from '@tessera/tensor';
import { afterEach, expect, it, vi } from 'vitest';
import { compile, compiledFunctionOf, config } from '../src/index.js';

afterEach(() => vi.restoreAllMocks());

function lossesOfTraining(): number[] {
  manualSeed(1);
  const model = new Linear(6, 3);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.05 });
  const x = randn([16, 6]);
  const labels = tensor(
    Array.from({ length: 16 }, (_, i) => i % 3),
    { dtype: 'int64' },
  );
  const step = compile((): Tensor => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, labels);
    loss.backward();
    optimizer.step();
    return loss;
  });
  const losses = Array.from({ length: 8 }, () => step().item() as number);
  // One graph all the same: it is what runs the graph that differs.
  expect(compiledFunctionOf(step).captures).toHaveLength(1);
  return losses;
}

it('trains with no WebAssembly code, to the losses that compiled code gives', () => {
  const expected = lossesOfTraining();
  const Module = vi.spyOn(WebAssembly, 'Module');
  const losses = config.patch({ 'cpu.kernels': 'reference' }, lossesOfTraining);
  expect(Module).not.toHaveBeenCalled();
  expect(losses[7]!).toBeLessThan(losses[0]!);
  losses.forEach((loss, i) => expect(loss).toBeCloseTo(expected[i]!, 5));
});

it('refuses other names, and to be an option of one function', () => {
  expect(() => config.patch({ 'cpu.kernels': 'fast' }, () => null)).toThrow(/'wasm'.*'reference'/);
  const options = { 'cpu.kernels': 'reference' };
  expect(() => compile((x: Tensor) => x, { options })).toThrow(/cpu\.kernels/);
});

it('gives reference kernels no tensor that runs backwards', () => {
  const program = (x: Tensor, index: Tensor): Tensor => x.indexSelect(0, index).flip([1]).mul(2);
  const compiled = compile(program);
  for (const n of [12, 13, 6, 7, 8, 9]) {
    const index = arange(n, { dtype: 'int64' });
    const gradients = [program, compiled].map((fn) => {
      const x = arange(n * n * 3, { dtype: 'float32' })
        .view([n, n, 3])
        .requiresGrad_(true);
      fn(x, index)
        .mul(arange(n * 3).view([n, 3]))
        .sum()
        .backward();
      return x.grad!.toArray();
    });
    expect(gradients[1]).toEqual(gradients[0]);
  }
});
