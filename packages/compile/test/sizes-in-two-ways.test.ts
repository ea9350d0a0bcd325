/**
 * @file Programs in which a size is written in two ways that are the same at the sizes seen so far, and places that only
 * a condition on what is divided keeps inside a buffer.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, arange, cat } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';
import { agree, outcome } from './size-fuzz.js';

type Sizes = readonly number[];
type Program = (x: Tensor) => Tensor;

const input = (sizes: Sizes): Tensor =>
  arange(
    sizes.reduce((product, n) => product * n, 1),
    { dtype: 'float32' },
  )
    .mul(0.73)
    .sin()
    .view([...sizes]);

/** Results and gradients of a program at sizes in turn, and whether compiled code gives the same. */
function expectAgreement(program: Program, shapes: readonly Sizes[]): void {
  const compiled = compile(program);
  for (const sizes of shapes) {
    const [want, got] = [program, compiled].map((run) => {
      const x = input(sizes).requiresGrad_();
      const value = outcome(() => {
        const y = run(x);
        y.mul(y).mul(input(y.sizes).add(0.4)).sum().backward();
        return y.detach();
      });
      return [value, outcome(() => x.grad!)] as const;
    });
    for (const i of [0, 1] as const)
      expect(agree(want![i], got![i]), `${sizes.join()}: ${JSON.stringify(got![i])}`).toBe(true);
  }
}

const PARTS: Program = (x) => {
  const parts = x.chunk(3);
  return cat([parts.at(-1)!, parts[0]!]);
};

describe('a size that is written in two ways', () => {
  it('is one where operands of a gradient have it', () => {
    const program: Program = (x) =>
      PARTS(F.layerNorm(x.flip([0]), [x.sizes[0]!])).mul((x.sizes[0]! % 3) + 1);
    expectAgreement(
      program,
      [10, 8, 4, 11, 11, 12, 8, 14, 3].map((n) => [n]),
    );
  });
});

describe('a place that is a quotient', () => {
  it('is inside where a condition on what is divided says so', () => {
    const program: Program = (x) =>
      x.unsqueeze(0).expand([3, -1, -1]).flatten().slice(0, 2, null, 2).sort(0)[0];
    expectAgreement(program, [
      [4, 3],
      [5, 3],
      [6, 4],
    ]);
  });
});
