/**
 * @file The default random generator: a seed and a count of draws.
 *
 * Every random operator takes the current seed and one offset; nothing else is state. A compiled
 * graph reserves as many offsets as it has random ops, in program order, so it continues the same
 * stream as eager.
 */

import { TesseraError } from '@tessera/shared';
import { modes } from '../dispatch/modes.js';
import { Storage } from '../memory/storage.js';

/** Generator state: unsigned 32-bit seed, number of random ops drawn since seeding. */
export interface GeneratorState {
  readonly seed: number;
  readonly offset: number;
}

/**
 * Stands for the generator where accesses to memory are told: calls that wait at an `await` must have drawn
 * what they recorded before others draw.
 */
export const GENERATOR_MEMORY: Storage = Storage.fake('cpu', 0);

let seed = 0x5eed;
let offset = 0;

/** Folds an integer seed of up to 53 bits to the 32 that the generator's key holds. */
function foldSeed(value: number): number {
  const high = Math.floor(value / 2 ** 32) >>> 0;
  return ((value >>> 0) ^ Math.imul(high, 0x9e3779b1)) >>> 0;
}

/** Tells tracers that the program is about to read or set the state: what they recorded draws first. */
function announce(writes: boolean): void {
  modes.pre?.onAccess?.(GENERATOR_MEMORY, writes);
  modes.suspended?.onAccess(GENERATOR_MEMORY, writes);
}

/** Seeds the generator; the same seed gives the same numbers on every device and in compiled code. @throws invalid-argument */
export function manualSeed(value: number): void {
  if (!Number.isFinite(value))
    throw new TesseraError('invalid-argument', `manualSeed: ${value} is no seed.`, {
      hints: ['A seed is a whole number.'],
    });
  announce(true);
  seed = foldSeed(value);
  offset = 0;
}

/** Current state, for saving. */
export function getRngState(): GeneratorState {
  announce(false);
  return rngState();
}

/** Restores what `getRngState` gave. @throws invalid-argument for what is no state */
export function setRngState(state: GeneratorState): void {
  if (typeof state?.seed !== 'number' || typeof state.offset !== 'number')
    throw new TesseraError('invalid-argument', 'setRngState takes a state.', {
      hints: ['Pass what getRngState() gave.'],
    });
  announce(true);
  restoreRng(state);
}

/** `getRngState` for the library itself: tracers are not told. */
export function rngState(): GeneratorState {
  return { seed, offset };
}

/** `setRngState` for the library itself: tracers are not told. */
export function restoreRng(state: GeneratorState): void {
  seed = state.seed;
  offset = state.offset;
}

/** Takes `count` offsets and returns the state before them. */
export function reserveOffsets(count: number): GeneratorState {
  const state = { seed, offset };
  offset += count;
  return state;
}
