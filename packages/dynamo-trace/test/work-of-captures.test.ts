/**
 * @file What a capture looks at grows with the program, not with its square: counted, as times differ.
 */
import { Graph } from '@tessera/graph';
import { type Tensor, cat, noGrad, ones, tensor, zeros } from '@tessera/tensor';
import { expect, it, vi } from 'vitest';
import { SegmentBuilder } from '../src/cursor/segment-builder.js';
import { compileEager } from './compile-for-test.js';

/** How often values are looked at, and lists of nodes made, while a call is captured and again for other sizes. */
function counted(call: (x: Tensor) => unknown): { values: number; lists: number } {
  const fake = vi.spyOn(SegmentBuilder.prototype, 'fake');
  const lists = vi.spyOn(Graph.prototype, 'nodes', 'get');
  for (const size of [3, 5]) call(zeros([size]));
  const found = { values: fake.mock.calls.length, lists: lists.mock.calls.length };
  fake.mockRestore();
  lists.mockRestore();
  return found;
}

it('operators that return their argument look at no other values', () => {
  const ofSteps = (steps: number): number =>
    counted(
      compileEager((x: Tensor) =>
        noGrad(() => {
          let y = x;
          for (let i = 0; i < steps; i++) y = y.add(i).contiguous();
          return y;
        }),
      ).call,
    ).values;
  expect(ofSteps(120)).toBeLessThan(2.2 * ofSteps(60));
});

it('inputs do not list all nodes', () => {
  const ofInputs = (inputs: number): number => {
    const constants = Array.from({ length: inputs }, (_, i) => tensor(i));
    return counted(compileEager((x: Tensor) => constants.reduce((y, c) => y.add(c), x)).call).lists;
  };
  expect(ofInputs(40)).toBe(ofInputs(20));
});

it('sizes that were met are not captured again: views as many as a size says, and a value that takes gradients', () => {
  const w = ones([4], { requiresGrad: true });
  const { call } = compileEager((x: Tensor) => {
    const rows = x.chunk(Math.ceil(x.size(0) / 8)).map((part) => part.mul(w));
    const sums = x.mul(0).add_(cat(rows)); // takes gradients from here on
    sums.sum().backward();
    return sums.detach();
  });
  for (const rows of [24, 16, 24, 24]) call(ones([rows, 4]));
  const fake = vi.spyOn(SegmentBuilder.prototype, 'fake');
  call(ones([24, 4]));
  expect(fake).not.toHaveBeenCalled();
  fake.mockRestore();
  expect(w.grad!.toArray()).toEqual(Array(4).fill(24 + 16 + 24 + 24 + 24));
});
