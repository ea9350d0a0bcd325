/**
 * @file What calls make dies young: V8 has no reason to keep it until it collects old objects.
 */
import { getHeapSpaceStatistics } from 'node:v8';
import { compile } from '@tessera/compile';
import { noGrad, randn, type Tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';

const OPERATORS = 300;

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!
    .space_used_size;
}

it('leaves few objects of calls among the old ones', async () => {
  const chain = compile((x: Tensor) => {
    let y = x;
    for (let i = 0; i < OPERATORS; i++) y = y.add(1);
    return y;
  });
  const x = randn([16]);
  const calls = (count: number): void => {
    for (let i = 0; i < count; i++) noGrad(() => chain(x).dispose());
  };
  calls(3000);
  const before = oldBytes();
  for (let round = 0; round < 4; round++) {
    calls(250);
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
  const grown = oldBytes() - before;
  // An operator makes a tensor of 150 bytes and a list of operands.
  expect(grown / (1000 * OPERATORS)).toBeLessThan(20);
});
