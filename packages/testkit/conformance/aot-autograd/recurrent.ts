/**
 * @file The row about a recurrent network on an input that is not contiguous.
 */
import { compile } from '@tessera/compile';
import { LSTM, Module } from '@tessera/nn';
import { type Tensor, manualSeed } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose, randStrided, same } from '../../src/index.js';

class Wrapper extends Module {
  readonly lstm: LSTM = new LSTM(64, 64, { numLayers: 2, bidirectional: true });

  override forward(input: Tensor): unknown[] {
    return [this.lstm.call(input)];
  }
}

/** A bidirectional two-layer LSTM whose input has strides (1, 5888, 92). */
export async function bidirectionalLstm(): Promise<void> {
  manualSeed(21);
  const module = new Wrapper();
  const input = randStrided([92, 4, 64], [1, 5888, 92]);
  expect(input.strides).toEqual([1, 5888, 92]);
  const expected = module.call(input);
  const actual = compile(module, { backend: 'aot_eager' })(input);
  const [leaves, expectedLeaves] = [actual, expected].map((result) => [result].flat(4) as Tensor[]);
  expect(leaves!.map((leaf) => leaf.sizes)).toEqual([
    [92, 4, 128],
    [4, 4, 64],
    [4, 4, 64],
  ]);
  expect(await same(expected, actual)).toBe(true);
  leaves!.forEach((leaf, i) => assertClose(leaf, expectedLeaves![i]!));
}
