/**
 * @file autocast inside and around compiled functions: casts are ops of the program.
 */
import { Linear, ReLU, Sequential } from '@tessera/nn';
import { type Tensor, autocast, manualSeed, matmul, ones, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

describe('autocast under compile', () => {
  it('is captured when it is inside the function', () => {
    const fn = (x: Tensor): Tensor => autocast({}, () => matmul(x, x)).add(1);
    const compiled = compile(fn, { fullgraph: true });
    const x = ones([4, 4]);
    for (let i = 0; i < 3; i++) {
      const out = compiled(x);
      expect(out.dtype).toBe('bfloat16');
      expect(out.toArray()).toEqual(fn(x).toArray());
    }
  });

  it('recompiles when the scope around the call changes, and is right each time', () => {
    manualSeed(0);
    const model = new Sequential(new Linear(8, 8), new ReLU(), new Linear(8, 4));
    const compiled = compile(model);
    const x = randn([2, 8]);
    const scopes = [false, true, false, true, true, false];
    for (const enabled of scopes) {
      const out = autocast({ enabled }, () => compiled(x)) as Tensor;
      const expected = autocast({ enabled }, () => model.call(x)) as Tensor;
      expect(out.dtype).toBe(enabled ? 'bfloat16' : 'float32');
      const difference = out.sub(expected).abs().max().item() as number;
      expect(difference).toBeLessThan(enabled ? 2e-2 : 1e-5);
    }
    expect(explain(compiled)(x).graphs.length).toBeLessThanOrEqual(2);
  });

  it('guards skipped functions', () => {
    const compiled = compile((x: Tensor) => matmul(x, x), { pure: true });
    const x = ones([2, 2]);
    expect(compiled(x).dtype).toBe('float32');
    expect(autocast({}, () => compiled(x)).dtype).toBe('bfloat16');
    expect(compiled(x).dtype).toBe('float32');
  });

  it('trains a module in one step with float32 parameters and gradients', () => {
    manualSeed(0);
    const model = new Linear(4, 2);
    const x = randn([3, 4]);
    const step = compile(
      (input: Tensor) => {
        const loss = autocast({}, () => model.call(input))
          .square()
          .mean();
        loss.backward();
        return loss;
      },
      { fullgraph: true },
    );
    for (let i = 0; i < 3; i++) {
      model.weight.grad = null;
      model.bias!.grad = null;
      step(x);
      expect(model.weight.grad!.dtype).toBe('float32');
    }
    const compiledGrad = model.weight.grad!.clone();
    model.weight.grad = null;
    autocast({}, () => model.call(x))
      .square()
      .mean()
      .backward();
    const difference = compiledGrad.sub(model.weight.grad!).abs().max().item() as number;
    expect(difference).toBeLessThan(2e-2);
  });
});
