/**
 * @file The state of the random generator, read and set in compiled functions: what was drawn before is drawn first.
 */
import {
  type GeneratorState,
  type Tensor,
  getRngState,
  manualSeed,
  ones,
  rand,
  setRngState,
} from '@tessera/tensor';
import * as nn from '@tessera/nn';
import { expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

/** Four calls on one seed: what they return, and where the generator stands after each. */
function observe(fn: (x: Tensor) => unknown[]): unknown {
  manualSeed(3);
  return Array.from({ length: 4 }, (_, i) => [
    fn(ones([i < 2 ? 3 : 5])).map((y) => (typeof y === 'number' ? y : (y as Tensor).toArray())),
    getRngState(),
  ]);
}

const dropout = new nn.Dropout(0.5);

it.each<[string, (x: Tensor) => unknown[]]>([
  [
    'seeded between two draws',
    (x) => {
      const before = rand(x.shape);
      manualSeed(7);
      return [before, rand(x.shape)];
    },
  ],
  [
    'seeded at the end',
    (x) => {
      const before = dropout.call(x);
      manualSeed(7);
      return [before];
    },
  ],
  [
    'saved and restored',
    (x) => {
      const first = rand(x.shape);
      const state = getRngState();
      const a = dropout.call(x);
      setRngState(state);
      return [first, a, dropout.call(x), state.offset];
    },
  ],
])('the generator is %s as in eager code', (_, fn) => {
  expect(observe(compile(fn))).toEqual(observe(fn));
});

it('and kept between calls', () => {
  const make = (): ((x: Tensor) => Tensor[]) => {
    let kept: GeneratorState | null = null;
    return (x: Tensor) => {
      const a = rand(x.shape);
      if (kept !== null) setRngState(kept);
      kept = getRngState();
      return [a, rand(x.shape)];
    };
  };
  expect(observe(compile(make()))).toEqual(observe(make()));
});

it('a seed before anything is drawn ends no graph', () => {
  const fn = (x: Tensor): Tensor => {
    manualSeed(7);
    return rand(x.shape).add(x);
  };
  expect(explain(fn)(ones([2])).breakReasons).toEqual([]);
  expect(compile(fn, { fullgraph: true })(ones([2])).toArray()).toEqual(fn(ones([2])).toArray());
});

it('a seed after a draw is a graph break, which fullgraph refuses', () => {
  const fn = (x: Tensor): Tensor => {
    const drawn = rand(x.shape);
    manualSeed(7);
    return rand(x.shape).add(drawn);
  };
  expect(explain(fn)(ones([2])).breakReasons.map(({ code }) => code)).toEqual(['GB0009']);
  expect(() => compile(fn, { fullgraph: true })(ones([2]))).toThrow('random generator');
});

it('a pure function neither reads nor sets the generator', () => {
  const read = (x: Tensor): Tensor => x.mul(getRngState().offset);
  const seeded = (x: Tensor): Tensor => {
    manualSeed(7);
    return rand(x.shape);
  };
  for (const fn of [read, seeded])
    expect(() => compile(fn, { pure: true })(ones([2]))).toThrow('random generator');
});
