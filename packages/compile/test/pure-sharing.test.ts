/**
 * @file Skipped calls of pure functions that write to arguments which share memory.
 */
import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const program = (a: Tensor, b: Tensor): Tensor => {
  a.mul_(2);
  return a.add(b);
};

const ARGUMENTS: Record<string, () => [Tensor, Tensor]> = {
  apart: () => [tensor([1, 2, 3]), tensor([1, 2, 3])],
  'a view of all': () => {
    const a = tensor([1, 2, 3]);
    return [a, a.slice(0, 0, 3)];
  },
  'views that overlap': () => {
    const all = tensor([1, 2, 3, 4]);
    return [all.slice(0, 0, 3), all.slice(0, 1, 4)];
  },
  'views side by side': () => {
    const all = ones([6]);
    return [all.slice(0, 0, 3), all.slice(0, 3, 6)];
  },
};

describe.each(['aot_eager', 'inductor'])('with %s', (backend) => {
  it.each(Object.keys(ARGUMENTS))('a call of another kind than %s is not skipped', (first) => {
    const call = compile(program, { backend, pure: true });
    for (const kind of [first, ...Object.keys(ARGUMENTS), first]) {
      const given = ARGUMENTS[kind]!();
      const expected = ARGUMENTS[kind]!();
      expect(call(...given).toArray(), kind).toEqual(program(...expected).toArray());
      expect(given.map((t) => t.toArray())).toEqual(expected.map((t) => t.toArray()));
    }
  });
});
