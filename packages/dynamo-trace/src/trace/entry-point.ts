/**
 * @file `EntryPoint`: where a segment begins: at the start of the function, or behind a graph break.
 *
 * What follows a graph break is recorded once for all calls, and all passes of a loop, that break at the same place of
 * the program, as PyTorch has one resume function for each: a segment knows nothing of those before it but the tensors
 * that it takes, which it checks like tensors from outside. So branches behind breaks add up instead of multiplying.
 */
import type { BreakReason } from '../breaks/graph-breaks.js';
import type { TrieNode } from './step.js';

/** How many slots and run-time scalars the traces behind an entry point use; each new one takes the next number. */
export interface Numbering {
  slots: number;
  scalars: number;
  /** Sources of inputs by slot: steps that are rebuilt later do not see them again, and graphs are told apart by names. */
  readonly sources: Map<number, string>;
}

/** See the file header. */
export class EntryPoint implements TrieNode {
  readonly steps: TrieNode['steps'] = [];
  readonly numbering: Numbering = { slots: 0, scalars: 0, sources: new Map() };
  /** Traces that were recorded from here. */
  recordings = 0;
  /** Calls that recorded some. */
  recordedCalls = 0;
}

/** The entry points of the calls that begin in one global state. */
export class EntryPoints {
  readonly start: EntryPoint = new EntryPoint();
  private readonly behind = new Map<string, EntryPoint>();

  /** What follows a break at a place of the program (`callPath`), in a grad mode. */
  after({ code }: BreakReason, place: string, gradMode: boolean): EntryPoint {
    const key = `${code} ${gradMode} ${place}`;
    let point = this.behind.get(key);
    if (point === undefined) this.behind.set(key, (point = new EntryPoint()));
    return point;
  }
}
