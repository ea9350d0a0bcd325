/**
 * @file How the threads of a workgroup share one row of attention, and which kernels are made row by row.
 */
import {
  extent,
  postorder,
  type AttentionKernel,
  type Expr,
  type ScheduleFacts,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { WgslTarget } from '../target.js';

/** See the file header. Thread counts are powers of two. */
export interface AttentionRow {
  readonly threads: number;
  /** Neighbouring threads that add up the score of a key, and those with four results each. */
  readonly perKey: number;
  readonly perColumn: number;
  /** Threads that exchange values without workgroup memory; and threads with the same results among them. */
  readonly spread: number;
  readonly together: number;
  /** Vectors of a key for each of its threads, and whether these hold those of the query. */
  readonly keyVectors: number;
  readonly holdsQuery: boolean;
  /** Keys that a thread loads at once, and values. */
  readonly keysAtOnce: number;
  /**
   * Whether a thread ends with the scores of four neighbouring keys, so that it makes their weights in registers: all
   * keys and values are loaded at once then.
   */
  readonly keepsScores: boolean;
  readonly valuesAtOnce: number;
  readonly columns: number;
  readonly width: number;
  /** Vectors of four that hold the weights, and a factor of a score. */
  readonly quads: number;
  readonly depth: number;
}

/** Most weights of a row: with those of a device with the least memory, results still fit. */
export const LONGEST_ROW = 2048;

/** Most rows of a head that are not worth tiles. */
export const MOST_ROWS = 4;
const GPU = { threads: 1024, withoutSubgroups: 256, perKey: 16, perKeptKey: 8 };
/** What a thread has room for: bytes of keys, the same where few threads keep scores, vectors of values, of the query. */
const HELD = { bytes: 128, kept: 512, values: 8, query: 2 };
const SOFTWARE_THREADS = 16;

const floorPower = (x: number): number => 2 ** Math.floor(Math.log2(Math.max(1, x)));
const ceilPower = (x: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, x)));

/** Bytes of the largest element that is loaded. */
function loadedBytes(root: Expr, { f16 }: WgslTarget): number {
  const bytes = postorder([root]).map((each) => (each.kind === 'load' ? itemSize(each.dtype) : 0));
  return Math.max(f16 ? 2 : 4, ...bytes);
}

/**
 * Vectors of memory for the results of so many threads. Neighbours read those of different parts: with one more between
 * parts, they meet in no bank.
 */
export function sumPlaces(
  results: number,
  { perColumn, spread }: Pick<AttentionRow, 'perColumn' | 'spread'>,
): number {
  return spread === 1 ? results : (results / perColumn) * (perColumn + 1);
}

/** The shape for a kernel; null where it is better made, or can only be made, by tiles. */
export function attentionRow(
  { m, j, k, n, softmax, scores, values }: AttentionKernel<Size>,
  target: WgslTarget,
): AttentionRow | null {
  const [rows, columns, inner, width] = [extent(m), extent(j), extent(k), extent(n)];
  const isRow =
    softmax &&
    scores.length === 1 &&
    values.length === 1 &&
    j.length === 1 &&
    typeof rows === 'number' &&
    rows <= MOST_ROWS &&
    typeof columns === 'number' &&
    columns > 0 &&
    columns <= LONGEST_ROW;
  if (!isRow || typeof inner !== 'number' || typeof width !== 'number') return null;
  const { software, maxWorkgroupThreads, maxWorkgroupBytes } = target;
  const subgroups = software ? null : target.subgroups;
  const perColumn = ceilPower(width / 4);
  const spread = subgroups?.min ?? 1;
  const depth = Math.ceil(inner / 4);
  const together = Math.max(1, spread / perColumn);
  const vectorBytes = 4 * loadedBytes(scores[0]!.b, target);
  /** Of a key: as many threads as share its vectors evenly. */
  const sharing = (most: number): Pick<AttentionRow, 'perKey' | 'keyVectors' | 'holdsQuery'> => {
    const perKey = Math.min(depth & -depth, most, spread);
    const keyVectors = depth / perKey;
    return { perKey, keyVectors, holdsQuery: !software && keyVectors <= HELD.query };
  };
  const kept = sharing(GPU.perKeptKey);
  const keepsScores =
    subgroups !== null &&
    kept.holdsQuery &&
    kept.perKey > 1 &&
    4 * depth * vectorBytes <= HELD.kept &&
    columns === floorPower(columns) &&
    columns / 4 >= Math.max(perColumn, spread) &&
    columns / 4 <= maxWorkgroupThreads;
  const shared = keepsScores ? kept : sharing(GPU.perKey);
  const { perKey, keyVectors, holdsQuery } = shared;
  const keyBytes = vectorBytes * (holdsQuery ? keyVectors : 1);
  const keys = Math.min(floorPower(HELD.bytes / keyBytes), floorPower(columns));
  const common = {
    ...shared,
    perColumn,
    spread,
    together,
    columns,
    width,
    quads: Math.ceil(columns / 4),
    depth,
    keepsScores,
    keysAtOnce: software ? 1 : keepsScores ? 4 * perKey : Math.min(keys, perKey === 1 ? 4 : perKey),
    valuesAtOnce: software ? 1 : keepsScores ? 4 * perColumn : HELD.values,
  };
  const bytes = (threads: number): number =>
    16 * (common.quads + (holdsQuery ? 0 : depth) + sumPlaces(threads / together, common)) +
    8 * (threads / spread);
  let threads = software
    ? SOFTWARE_THREADS
    : keepsScores
      ? columns / 4
      : Math.min(subgroups === null ? GPU.withoutSubgroups : GPU.threads, maxWorkgroupThreads);
  threads = Math.max(floorPower(threads), perColumn);
  while (threads > perColumn && threads > spread && bytes(threads) > maxWorkgroupBytes)
    threads /= 2;
  return threads <= maxWorkgroupThreads && bytes(threads) <= maxWorkgroupBytes
    ? { ...common, threads }
    : null;
}

/** How the kernel runs, for tools. */
export function rowFacts(
  kernel: string,
  { threads, perKey, perColumn }: AttentionRow,
): ScheduleFacts {
  return {
    kernel,
    facts: {
      'part of a workgroup': 'one row',
      'threads of a workgroup': threads,
      'threads that share a score': perKey,
      'threads that share a result': threads / perColumn,
    },
  };
}
