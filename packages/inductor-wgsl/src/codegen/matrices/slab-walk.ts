/**
 * @file Walking the summed dimension in slabs: the next slab's global loads are issued before the arithmetic on this one.
 */
import { CodeBlock } from '../code-block.js';

/** A part of an operand in workgroup memory, which all threads load through registers. */
export interface Slab {
  /** Declares the registers. */
  declare(block: CodeBlock): void;
  /** Loads this thread's units of the slab at k = `first` into registers. */
  fetch(block: CodeBlock, first: string): void;
  /** Writes the loaded units to workgroup memory. */
  publish(block: CodeBlock): void;
}

/** See the file header. */
export interface SlabWalk {
  readonly slabs: readonly Slab[];
  /** Number of slabs: text, and whether it is one. */
  readonly steps: string;
  readonly isOne: boolean;
  /** Rows of a slab. */
  readonly bk: number;
  /** First k of all slabs; nothing where it is 0. */
  readonly origin?: string;
  /** Appends the arithmetic on a slab; `step` is its number. */
  multiply(loop: CodeBlock): void;
}

/** Appends the loop over slabs; all threads have passed a barrier at its end. */
export function walkSlabs(
  body: CodeBlock,
  { slabs, steps, isOne, bk, origin = '', multiply }: SlabWalk,
): void {
  const first = (k: string): string => (origin === '' ? k : `${origin} + ${k}`);
  for (const slab of slabs) slab.declare(body);
  for (const slab of slabs) slab.fetch(body, first('0u'));
  const loop = new CodeBlock();
  for (const slab of slabs) slab.publish(loop);
  loop.line('workgroupBarrier();');
  if (!isOne) {
    const fetch = new CodeBlock();
    for (const slab of slabs) slab.fetch(fetch, first(`(step + 1u) * ${bk}u`));
    loop.nest(`if (step + 1u < ${steps})`, fetch);
  }
  multiply(loop);
  loop.line('workgroupBarrier();');
  body.nest(`for (var step = 0u; step < ${steps}; step++)`, loop);
}
