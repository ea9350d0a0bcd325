/**
 * @file Integers are converted to the type of the result before a function of floats sees them, as in PyTorch.
 */
import { expect, it } from 'vitest';
import { tensor } from '../src/index.js';

it('a large integer is rounded to float32 first', () => {
  const x = tensor([2147483650], { dtype: 'int64' });
  // 2147483650 is 2147483648 in float32; torch.cos(torch.tensor([2147483650])) is 0.2378.
  expect((x.cos().toArray() as number[])[0]).toBeCloseTo(Math.cos(2147483648), 5);
});
