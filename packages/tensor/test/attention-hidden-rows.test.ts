/**
 * @file Rows of scores that are hidden in full: no weight and no gradient, instead of NaN.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, callOp, getOp, grad, tensor } from '../src/index.js';
import '../src/internal.js';

describe('_safe_softmax', () => {
  const scores = tensor(
    [
      [0, 1],
      [-Infinity, -Infinity],
      [2, -Infinity],
    ],
    { requiresGrad: true },
  );
  const weights = (): Tensor => callOp(getOp('aten::_safe_softmax'), [scores, -1, null]) as Tensor;

  it('gives 0 for a hidden row', () => {
    expect(weights().toArray()).toEqual([
      [expect.closeTo(0.26894, 5), expect.closeTo(0.73106, 5)],
      [0, 0],
      [1, 0],
    ]);
  });

  it('has gradient 0 in a hidden row', () => {
    const [slope] = grad(
      [
        weights()
          .mul(tensor([1, 3]))
          .sum(),
      ],
      [scores],
    );
    const share = 0.26894 * 0.73106 * 2;
    expect(slope!.toArray()).toEqual([
      [expect.closeTo(-share, 4), expect.closeTo(share, 4)],
      [0, 0],
      [0, 0],
    ]);
  });
});

it('alpha · other of 16-bit floats is rounded before it is added', () => {
  const self = tensor([0.333251953125], { dtype: 'float16' });
  const other = tensor([0.71826171875], { dtype: 'float16' });
  const product = other.mul(1.4912109375);
  expect(self.sub(other, { alpha: 1.4912109375 }).toArray()).toEqual(self.sub(product).toArray());
});
