/**
 * @file Views given by strides of tensors that are views themselves: eager code reaches everything in their storage.
 */
import { type Tensor, arange } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const programs: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'between its elements': (x) => x.asStrided([2], [1]).mul(2),
  'before its first element': (x) => x.asStrided([2, 2], [1, 1], 0).sum(0),
  'written between its elements': (x) => (x.asStrided([2], [1]).mul_(2), x.add(1)),
  'written at its elements': (x) => (x.asStrided([2], [2]).mul_(2), x.add(1)),
  'windows of it, written': (x) => (x.unfold(1, 1, 1).mul_(3), x.add(1)),
};

describe.each(['eager', 'aot_eager', 'inductor'])('%s', (backend) => {
  it('what is beyond an element is read after the element was written', () => {
    const run = (x: Tensor): Tensor => {
      x.mul_(3);
      return x.flatten().asStrided([2, 2], [1, 1], 0).sum(0);
    };
    const play = (fn: (x: Tensor) => Tensor): unknown => {
      const whole = arange(4).add(1);
      return [fn(whole.select(0, 1)).toArray(), whole.toArray()];
    };
    expect(play(compile(run, { backend }))).toEqual(play(run));
  });
});

describe.each(['eager', 'aot_eager', 'inductor'])('%s', (backend) => {
  it.each(Object.entries(programs))('a view by strides of a slice: %s', (_name, program) => {
    const play = (run: (x: Tensor) => Tensor): unknown[] => {
      const whole = arange(8).reshape([2, 4]);
      const calls = [1, 2].map(() => run(whole.slice(1, 1, 4, 2)).toArray());
      return [calls, whole.toArray()];
    };
    expect(play(compile((x: Tensor) => program(x), { backend }))).toEqual(play(program));
  });
});
