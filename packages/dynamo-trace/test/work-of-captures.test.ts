/**
 * @file What a capture looks at grows with the program, not with its square: counted, as times differ.
 */
import { Graph } from '@tessera/graph';
import { type Tensor, noGrad, tensor, zeros } from '@tessera/tensor';
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
