import type { CompiledGraph } from '@tessera/inductor-core';
import { type Tensor, noGrad, ones } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, observeCompilations } from '../src/index.js';

it('updates parameters in their own memory, without a second copy of them', () => {
  const step = (w: Tensor, x: Tensor): Tensor => {
    const loss = x.mul(w).sum();
    loss.backward();
    noGrad(() => w.sub_(w.grad!.mul(0.1)));
    return loss;
  };
  const w = ones([4096]).requiresGrad_();
  const { storage } = w;
  const plans: CompiledGraph['plan'][] = [];
  const stop = observeCompilations((_module, compiled) => plans.push(compiled.plan));
  compile(step)(w, ones([4096]).mul(2));
  stop();
  expect(w.storage).toBe(storage);
  expect((w.toArray() as number[])[0]).toBeCloseTo(0.8);
  expect(plans).toHaveLength(1);
  const [plan] = plans;
  // The loss, and the gradient that `w.grad` holds: the new parameter has no memory but its own.
  const large = plan!.buffers.filter((buffer) => buffer.numel === 4096);
  expect(large.map((buffer) => buffer.source.kind).sort()).toEqual(['input', 'input', 'output']);
  expect(plan!.outputs.map((output) => output.sizes)).toEqual([[], [4096]]);
  const updated = plan!.kernels.flatMap((kernel) => kernel.params).map((param) => param.access);
  expect(updated).toContain('readwrite');
});
