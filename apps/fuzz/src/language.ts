/**
 * @file Ordinary JavaScript around tensors that programs use: recursion, a generator, a class with state, and a
 * function that compiled programs compile on its own, and one that equal modules go through.
 */
import type { Tensor } from '@tessera/tensor';

/** Which of them a statement calls. */
export const CALLS = ['recursion', 'generator', 'method', 'nested', 'blocks'] as const;

/** See `CALLS`. */
export type CallKind = (typeof CALLS)[number];

/** A class whose method counts its calls. */
export class Layer {
  count = 0;
  scale = 0.5;

  apply(t: Tensor): Tensor {
    this.count++;
    return t.mul(this.scale).add(this.count);
  }
}

/** Calls itself `depth` times. */
export function halved(t: Tensor, depth: number): Tensor {
  return depth <= 0 ? t : halved(t.mul(0.5).add(depth), depth - 1);
}

/** Yields two tensors. */
export function* parts(t: Tensor): Generator<Tensor> {
  yield t.mul(2);
  yield t.add(1);
}

/** The source of the above, for printed programs. */
export const LANGUAGE_TEXT: readonly string[] = [
  'class Layer {',
  '  count = 0;',
  '  scale = 0.5;',
  '  apply(t: T.Tensor): T.Tensor {',
  '    this.count++;',
  '    return t.mul(this.scale).add(this.count);',
  '  }',
  '}',
  'const halved = (t: T.Tensor, depth: number): T.Tensor =>',
  '  depth <= 0 ? t : halved(t.mul(0.5).add(depth), depth - 1);',
  'function* parts(t: T.Tensor): Generator<T.Tensor> {',
  '  yield t.mul(2);',
  '  yield t.add(1);',
  '}',
];
