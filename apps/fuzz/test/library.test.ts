/**
 * @file Entries of the library: each runs on some tensor, as the fuzzer calls it and as it is printed.
 */
import { type Tensor, isTensor, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { LIBRARY, callLibrary, makeModules } from '../src/library.js';

const TENSORS: readonly (() => Tensor)[] = [
  () =>
    tensor([
      [0.5, -1, 2],
      [1, 0.25, -0.5],
    ]),
  () =>
    tensor(
      [
        [1, 2, 3],
        [3, 1, 2],
      ],
      { dtype: 'int64' },
    ),
  () => tensor([0.3, 0.7, -0.2, 1]),
  () =>
    tensor([
      [1, 2],
      [3, 4],
    ]),
  () =>
    tensor([
      [true, false],
      [true, true],
    ]),
];

it('every entry of the library runs on some tensor', () => {
  const modules = makeModules();
  const runs = (text: string, make: () => Tensor): boolean => {
    try {
      return isTensor(callLibrary(text, make(), make().add(0), 1, modules));
    } catch {
      return false;
    }
  };
  const broken = LIBRARY.filter((text) => !TENSORS.some((make) => runs(text, make)));
  expect(broken).toEqual([]);
  expect(new Set(LIBRARY).size).toBe(LIBRARY.length);
});
