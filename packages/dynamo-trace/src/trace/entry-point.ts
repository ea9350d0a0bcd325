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

/** Graphs for sizes that are made whatever they cost: samples of them may make others needless. */
const ENOUGH = 64;

/** See the file header. */
export class EntryPoint implements TrieNode {
  readonly steps: TrieNode['steps'] = [];
  readonly numbering: Numbering = { slots: 0, scalars: 0, sources: new Map() };
  /** Traces that were recorded from here. */
  recordings = 0;
  /** Calls that recorded some. */
  recordedCalls = 0;
  private graphs = 0;
  private makingMs = 0;
  private runningMs = 0;

  /** Code for further sizes was made of a graph, and ran. */
  noteGraph(makingMs: number, runningMs: number): void {
    this.graphs++;
    this.makingMs += makingMs;
    this.runningMs += runningMs;
  }

  /** Whether further sizes are not worth a graph: as many samples as are looked at told nothing, and making code takes longer than running it. */
  get isCostly(): boolean {
    return this.graphs >= ENOUGH && this.makingMs > this.runningMs;
  }
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
