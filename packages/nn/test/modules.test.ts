/**
 * @file Modules against PyTorch: outputs, gradients, buffers and how they print.
 */
import { describe, expect, it } from 'vitest';
import type { Tensor } from '@tessera/tensor';
import { type Module, functional as F } from '../src/index.js';
import {
  type ModuleCase,
  argumentsOf,
  caseName,
  cases,
  functional,
  moduleOf,
  restore,
  tensorsIn,
} from './module-cases.js';

function expectClose(actual: Tensor | null, recorded: unknown, name: string): void {
  const expected = restore(recorded) as Tensor | null;
  expect(actual === null, `${name} is null`).toBe(expected === null);
  if (actual === null || expected === null) return;
  expect([actual.dtype, ...actual.sizes], name).toEqual([expected.dtype, ...expected.sizes]);
  const values = (tensor: Tensor): number[] =>
    Array.from(tensor.detach().contiguous().toTypedArray() as ArrayLike<number | bigint>, Number);
  const right = values(expected);
  values(actual).forEach((value, i) => {
    // Sums in another order; gradients of these sizes differ by a few units in the last place.
    const difference = Math.abs(value - right[i]!);
    if (value !== right[i] && !(difference <= 2e-5 + 2e-6 * Math.abs(right[i]!)))
      expect.fail(`${name}[${i}]: ${value}, PyTorch has ${right[i]!}`);
  });
}

function check(recorded: ModuleCase): void {
  const module = moduleOf(recorded);
  if (recorded.repr !== null) expect(String(module)).toBe(recorded.repr);
  const { args, inputs } = argumentsOf(recorded);
  const outputs = tensorsIn((module.call as (...args: unknown[]) => unknown).apply(module, args));
  expect(outputs.length).toBe(recorded.outputs.length);
  outputs.forEach((output, i) => expectClose(output, recorded.outputs[i], `output ${i}`));
  outputs.forEach((output, i) => {
    const cotangent = restore(recorded.cotangents[i]) as Tensor | null;
    if (cotangent !== null) output.backward(cotangent, { retainGraph: true });
  });
  inputs.forEach((input, i) =>
    expectClose(input.grad, recorded.inputGrads[i], `gradient of input ${i}`),
  );
  const parameters = new Map(module.namedParameters());
  for (const [name, grad] of Object.entries(recorded.grads))
    expectClose(parameters.get(name)!.grad, grad, `gradient of ${name}`);
  const buffers = new Map(module.namedBuffers());
  for (const [name, buffer] of Object.entries(recorded.buffers))
    expectClose(buffers.get(name)!, buffer, name);
  expect(Object.keys((module as Module).stateDict())).toEqual(Object.keys(recorded.state));
}

describe("modules: output, gradients, buffers, state and text are PyTorch's", () => {
  it.each(cases.map((recorded) => [caseName(recorded), recorded] as const))('%s', (_, recorded) =>
    check(recorded),
  );
});

describe("functions are PyTorch's", () => {
  it.each(
    functional.map(
      (recorded, i) =>
        [
          `${recorded.name} ${i} ${JSON.stringify(recorded.args.at(-1)).slice(0, 80)}`,
          recorded,
        ] as const,
    ),
  )('%s', (_, recorded) => {
    const fn = (F as unknown as Record<string, (...args: unknown[]) => Tensor>)[recorded.name]!;
    expectClose(fn(...(restore(recorded.args) as unknown[])), recorded.output, recorded.name);
  });
});
