/**
 * @file `explain()` tells what a compilation cost, by stage, and how many kernels it made.
 */
import { Linear, functional as F, optim } from '@tessera/nn';
import { type Tensor, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

describe('explain', () => {
  it('lists the stages of a compiled training step, which add up to the time in the backend', () => {
    const model = new Linear(4, 4);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const step = compile((x: Tensor) => {
      optimizer.zeroGrad();
      const loss = F.mseLoss(model.call(x), x);
      loss.backward();
      optimizer.step();
      return loss;
    });
    const told = explain(step)(randn([3, 4]));
    const { capture, ...backend } = told.stages;
    expect(capture).toBe(told.captureMs);
    expect(capture).toBeGreaterThan(0);
    expect(Object.keys(backend)).toEqual([
      'pre-grad passes',
      'joint graph',
      'functionalize',
      'joint passes',
      'post-grad passes',
      'lower',
      'fuse',
      'build kernels',
      'generate and load code',
    ]);
    const sum = Object.values(backend).reduce((a, b) => a + b, 0);
    expect(sum).toBeLessThanOrEqual(told.compileMs);
    expect(sum).toBeGreaterThan(0.5 * told.compileMs);
    expect(told.kernelCount).toBeGreaterThan(1);
    expect(String(told)).toContain(`${told.kernelCount} kernel(s)`);
    expect(String(told)).toContain('generate and load code');
  });

  it('adds the backward graph once it is compiled', () => {
    const f = compile((x: Tensor) => x.sin().mul(x).sum());
    const x = randn([8], { requiresGrad: true });
    const loss = f(x);
    const before = explain(f)(x).kernelCount;
    loss.backward();
    expect(explain(f)(x).kernelCount).toBeGreaterThan(before);
  });
});
