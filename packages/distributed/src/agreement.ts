/**
 * @file Checking, before anything is sent, that all ranks mean the same.
 */
import { TesseraError } from '@tessera/shared';
import { arrayBuffer } from './host-buffer.js';
import type { ProcessGroup } from './process-group.js';

/** The texts of all ranks, in their order. Blocks. */
export function gatherTexts(group: ProcessGroup, text: string): string[] {
  const { communicator, size } = group;
  const own = new TextEncoder().encode(text);
  const lengths = new Float64Array(size);
  communicator
    .allGather(
      arrayBuffer(new Uint8Array(Float64Array.of(own.length).buffer), 'float64'),
      arrayBuffer(new Uint8Array(lengths.buffer), 'float64'),
    )
    .waitSync();
  const longest = Math.max(...lengths);
  const padded = new Uint8Array(longest);
  padded.set(own);
  const all = new Uint8Array(longest * size);
  communicator.allGather(arrayBuffer(padded, 'uint8'), arrayBuffer(all, 'uint8')).waitSync();
  return Array.from(lengths, (length, rank) =>
    new TextDecoder().decode(all.subarray(rank * longest, rank * longest + length)),
  );
}

/**
 * Compares lists of what the ranks have, line by line.
 *
 * @throws distributed-mismatch on every rank, with the first line that differs and both sides
 */
export function checkAgreement(group: ProcessGroup, what: string, lines: readonly string[]): void {
  if (group.size === 1) return;
  const texts = gatherTexts(group, lines.join('\n'));
  const other = texts.findIndex((text) => text !== texts[0]);
  if (other < 0) return;
  const [first, second] = [texts[0]!.split('\n'), texts[other]!.split('\n')];
  const at = first.findIndex((line, i) => line !== second[i]);
  const line = at < 0 ? first.length : at;
  const named = (rank: number, own: readonly string[]): string =>
    `rank ${group.ranks[rank]} has ${own[line] ?? 'nothing'}`;
  throw new TesseraError(
    'distributed-mismatch',
    `The ranks of group '${group.name}' have different ${what}: ${named(0, first)}, ${named(other, second)}.`,
    {
      context: { ranks: [group.ranks[0], group.ranks[other]], line },
      hints: ['Build the same model, in the same order, on every rank.'],
    },
  );
}
