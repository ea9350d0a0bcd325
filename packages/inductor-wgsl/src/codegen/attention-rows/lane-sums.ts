/**
 * @file Sums over neighbouring threads that exchange values without workgroup memory.
 */
import type { CodeBlock } from '../code-block.js';

/**
 * Sums each of the variables `<name>0`, `<name>1`… over runs of `lanes` threads; both numbers are powers of two.
 *
 * With every exchange a thread hands over one half of its sums for its neighbour's part of the other half, so that as
 * many exchanges as there are sums do for all of them. After it `<name>0` is the sum whose number is the returned text,
 * which `sharers` neighbouring threads have. With `p` times as many sums as lanes, a lane has `p` of them, from sum
 * `number · p` on.
 */
export function sumOverLanes(
  block: CodeBlock,
  name: string,
  count: number,
  lanes: number,
): { readonly number: string; readonly sharers: number } {
  let left = count;
  for (let mask = lanes / 2; mask >= 1; mask /= 2) {
    if (left === 1) {
      block.line(`${name}0 += subgroupShuffleXor(${name}0, ${mask}u);`);
      continue;
    }
    left /= 2;
    block.line(`let ${name}_upper${mask} = (lane & ${mask}u) != 0u;`);
    for (let i = 0; i < left; i++) {
      const [low, high, isUpper] = [`${name}${i}`, `${name}${i + left}`, `${name}_upper${mask}`];
      const given = `subgroupShuffleXor(select(${high}, ${low}, ${isUpper}), ${mask}u)`;
      block.line(`${low} = select(${low}, ${high}, ${isUpper}) + ${given};`);
    }
  }
  const sharers = Math.max(1, lanes / count);
  const place = `lane % ${lanes}u`;
  return { number: sharers === 1 ? place : `${place} / ${sharers}u`, sharers };
}
