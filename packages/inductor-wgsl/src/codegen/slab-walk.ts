/**
 * @file Walking the summed dimension in slabs: the next slab's global loads are issued before the arithmetic on this one.
 */
import { CodeBlock } from './code-block.js';
import { plus } from './offset-text.js';

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

/** How the rows of a slab are gone through. */
export interface SlabRows {
  readonly bk: number;
  readonly unrolled: boolean;
  /** Threads that share results, each taking every so manyth row. */
  readonly slices?: number;
}

/** A row of a slab: text of its number, and how many eights of rows are before it, in all slices and by slice. */
export interface SlabRow {
  readonly k: string;
  readonly eights: number;
  readonly eightsOfSlice: string;
}

/** Appends `step` for each row of a slab: written out, or as a loop, whose rows have no number. */
export function eachRow(
  loop: CodeBlock,
  { bk, unrolled, slices = 1 }: SlabRows,
  step: (row: SlabRow) => CodeBlock,
): void {
  const first = slices > 1 ? 'slice' : '';
  if (unrolled) {
    const eightsOfSlice = slices > 8 ? 'slice / 8u' : '';
    for (let k = 0; k < bk; k += slices) {
      const text = first === '' ? `${k}u` : `${first}${plus(k)}`;
      loop.nest('', step({ k: text, eights: k >> 3, eightsOfSlice }));
    }
    return;
  }
  const stride = slices > 1 ? `kk += ${slices}u` : 'kk++';
  loop.nest(
    `for (var kk = ${first || '0u'}; kk < ${bk}u; ${stride})`,
    step({ k: 'kk', eights: 0, eightsOfSlice: '' }),
  );
}
