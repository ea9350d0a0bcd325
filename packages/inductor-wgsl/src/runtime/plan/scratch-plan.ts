/**
 * @file Scratch memory of a plan: which buffers share a piece of it.
 *
 * WebGPU cannot bind two ranges of one buffer to a kernel when one of them is written as read-only and
 * the other not, so an arena in one buffer does not work. Instead each piece is a GPU buffer, and
 * buffers whose lifetimes do not meet share one. Plans of all sizes of a template share the same pieces, so that what
 * launches have bound for one size fits others: those of a piece have one size where it is made, and the largest counts
 * elsewhere.
 */
import { TesseraError } from '@tessera/shared';
import { type ExecutionPlan, bufferLifetimes } from '@tessera/inductor-core';

/** What is asked of a plan, or of a template of plans. */
interface Placed extends Pick<ExecutionPlan, 'name' | 'launches'> {
  readonly buffers: readonly { readonly source: { readonly kind: string } }[];
}

/**
 * The piece of each buffer of a plan; -1 for those that are arguments or constants.
 *
 * @param bytes size of each buffer, a size class
 */
export function scratchPieces(plan: Placed, bytes: readonly number[]): number[] {
  const count = plan.buffers.length;
  for (const [position, launch] of plan.launches.entries()) {
    for (const buffer of launch.buffers)
      if (buffer < 0 || buffer >= count) throw badBuffer(plan, position, buffer);
  }
  const lives = bufferLifetimes(plan);
  const pieces = new Array<number>(count).fill(-1);
  const freeFrom: number[] = [];
  const order = [...plan.buffers.keys()]
    .flatMap((index) => {
      const life = lives[index];
      const { kind } = plan.buffers[index].source;
      return (kind === 'arena' || kind === 'scratch') && life !== null ? [{ index, ...life }] : [];
    })
    .sort((a, b) => a.first - b.first || a.index - b.index);
  const bySize = new Map<number, number[]>();
  for (const { index, first, last } of order) {
    const candidates = bySize.get(bytes[index]) ?? [];
    bySize.set(bytes[index], candidates);
    let piece = candidates.find((candidate) => freeFrom[candidate] <= first);
    if (piece === undefined) candidates.push((piece = freeFrom.length));
    freeFrom[piece] = last + 1;
    pieces[index] = piece;
  }
  return pieces;
}

/** Bytes of each piece: those of the largest buffer in it. */
export function pieceBytes(pieces: readonly number[], bytes: readonly number[]): number[] {
  const sizes: number[] = [];
  for (let i = 0; i < pieces.length; i++)
    if (pieces[i] >= 0) sizes[pieces[i]] = Math.max(sizes[pieces[i]] ?? 0, bytes[i]);
  return sizes;
}

function badBuffer(plan: Placed, launch: number, buffer: number): TesseraError {
  return new TesseraError(
    'plan-invalid',
    `Launch ${launch} of plan '${plan.name}' binds buffer ${buffer}; the plan has ${plan.buffers.length}.`,
    {
      context: { plan: plan.name, launch, buffer },
      hints: [
        'The plan was changed after it was made, or was made by another version of Tessera: compile again.',
      ],
    },
  );
}
