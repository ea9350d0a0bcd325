/**
 * @file An operator that refuses its arguments, and whose error the program catches, is no other path of the program.
 */
import { expect, it } from 'vitest';
import { type Tensor, ones, zeros } from '@tessera/tensor';
import { compileEager } from './compile-for-test.js';

/** What `fn` gives, or the first line of its error. */
function outcome<R>(fn: () => R): R | string {
  try {
    return fn();
  } catch (error) {
    return (error as Error).message.split('\n')[0]!;
  }
}

it('a caught error of an operator leaves later calls as they were recorded', () => {
  const { call, function: compiled } = compileEager((x: Tensor) => {
    const y = x.mul(2);
    const refusal = outcome(() => y.matmul(zeros([7, 7])));
    return [y.add(1).sum(), refusal] as const;
  });
  const [, text] = call(ones([4, 2]));
  for (let i = 0; i < 12; i++) {
    const [sum, refusal] = call(ones([4, 2]).mul(i));
    expect([sum.item(), refusal]).toEqual([16 * i + 8, text]);
  }
  expect(compiled.captures.length).toBe(1);
  expect(compiled.reasons).toEqual([]);
});

it('so does one as the first operator, at any size', () => {
  const { call, function: compiled } = compileEager((x: Tensor) => {
    const refusal = outcome(() => x.view([-1, 100]));
    return [x.mul(2), refusal] as const;
  });
  const refusals = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map((n) => call(ones([n]))[1]);
  expect(refusals).toEqual(
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map((n) => outcome(() => ones([n]).view([-1, 100]))),
  );
  expect(compiled.captures.length).toBe(2);
});

it('an operator that refuses some arguments only is taken where it does not', () => {
  const { call } = compileEager((x: Tensor, w: Tensor) => {
    const y = x.mul(2);
    const product = outcome(() => y.matmul(w));
    return typeof product === 'string' ? y.sum() : product.sum();
  });
  for (let i = 0; i < 4; i++) {
    expect(call(ones([2, 3]), ones([3, 2])).item()).toBe(24);
    expect(call(ones([2, 3]), ones([4, 2])).item()).toBe(12);
  }
});
