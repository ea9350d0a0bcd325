/**
 * @file One value that all threads of a workgroup make together, and all of them get.
 */
import { CodeBlock } from '../code-block.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from '../program.js';

/** Threads of a workgroup, and how many of them exchange values without workgroup memory; powers of two. */
export interface WorkgroupThreads {
  readonly threads: number;
  readonly spread: number;
}

/** Parts that each thread goes through by itself: a barrier would take longer. */
const FEW_PARTS = 16;

/**
 * Gives all threads what the variables of that name, one of each, make together. What was written to workgroup memory
 * before is seen after it.
 */
export function shareTotal(
  builder: ProgramBuilder,
  body: CodeBlock,
  { threads, spread }: WorkgroupThreads,
  name: string,
  join: (a: string, b: string) => string,
): void {
  const parts = threads / spread;
  const array = builder.workgroupArray(name, 'f32', parts);
  const exchange = (lanes: number): void => {
    for (let mask = lanes / 2; mask >= 1; mask /= 2)
      body.line(`${name} = ${join(name, `subgroupShuffleXor(${name}, ${mask}u)`)};`);
  };
  exchange(spread);
  body.line(`${array}[${spread === 1 ? 'lane' : `lane / ${spread}u`}] = ${name};`);
  body.line('workgroupBarrier();');
  if (parts === 1) return;
  if (spread > 1) {
    const loaded = Math.min(parts, spread);
    const part = (i: number): string => `${array}[lane % ${loaded}u${plus(i)}]`;
    body.line(`${name} = ${part(0)};`);
    for (let i = loaded; i < parts; i += loaded) body.line(`${name} = ${join(name, part(i))};`);
    exchange(loaded);
    return;
  }
  const half = new CodeBlock();
  const merged = join(`${array}[lane]`, `${array}[lane + half]`);
  half.line(`if (lane < half) { ${array}[lane] = ${merged}; }`);
  half.line('workgroupBarrier();');
  if (parts > FEW_PARTS)
    body.nest(`for (var half = ${parts / 2}u; half >= ${FEW_PARTS}u; half = half >> 1u)`, half);
  body.line(`${name} = ${array}[0];`);
  const other = new CodeBlock();
  other.line(`${name} = ${join(name, `${array}[other]`)};`);
  body.nest(`for (var other = 1u; other < ${Math.min(parts, FEW_PARTS)}u; other++)`, other);
}
