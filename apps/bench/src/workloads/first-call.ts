/**
 * @file `first_call_tiny`, `first_call_mlp`: what a user waits for before the first result. Measured in
 * fresh processes; see `harness/first-call.ts`. Each fresh function has another shape, so that no cache
 * of kernels answers for it.
 */
import type { Workload } from '../harness/workload.js';
import { mlpCase } from './mlp-train-step.js';
import { tinyCase } from './tiny-call.js';

export const firstCallTiny: Workload = {
  name: 'first_call_tiny',
  group: 'first_call',
  about: 'from compile() to the first result, x·2 + 1',
  devices: ['cpu', 'wgpu'],
  kind: 'first-call',
  make: ({ variant }) => tinyCase(16 + variant),
};

export const firstCallMlp: Workload = {
  name: 'first_call_mlp',
  group: 'first_call',
  about: 'from compile() to the first result, mlp_train_step',
  devices: ['cpu', 'wgpu'],
  kind: 'first-call',
  make: ({ quick, variant }) =>
    quick ? mlpCase([64, 48, 10], 32 - variant) : mlpCase([784, 512, 256, 10], 128 - 4 * variant),
};
