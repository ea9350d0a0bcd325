/**
 * @file What was chosen for a kernel that works in tiles, in words.
 */
import type { ScheduleFacts } from '@tessera/inductor-core';

/** The choices that products and attention have in common. */
export interface TileChoices {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  /** What one thread, or one subgroup, makes of the tile. */
  readonly each: 'thread' | 'subgroup';
  readonly part: readonly [number, number];
  readonly threads: number;
}

/** See the file header. `more` says what is particular to a kernel. */
export function tileFacts(
  kernel: string,
  { bm, bn, bk, each, part, threads }: TileChoices,
  more: ScheduleFacts['facts'] = {},
): ScheduleFacts {
  return {
    kernel,
    facts: {
      'tile of a workgroup': `${bm} × ${bn}`,
      [`part of a ${each}`]: part.join(' × '),
      'k at a time': bk,
      'threads of a workgroup': threads,
      ...more,
    },
  };
}
