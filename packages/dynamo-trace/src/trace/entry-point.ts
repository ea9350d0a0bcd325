/**
 * @file `EntryPoint`: where a segment begins: at the start of the function, or behind a graph break.
 *
 * What follows a graph break is recorded once for all calls, and all passes of a loop, that break at the same place of
 * the program, as PyTorch has one resume function for each: a segment knows nothing of those before it but the tensors
 * that it takes, which it checks like tensors from outside. So branches behind breaks add up instead of multiplying.
 */
import { type TrieNode, newNode } from './step.js';

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
  readonly steps: TrieNode['steps'] = newNode().steps;
  readonly numbering: Numbering = { slots: 0, scalars: 0, sources: new Map() };
  /** Calls that recorded traces from here. */
  recordedCalls = 0;
  /** Whether further sizes are not worth a graph: as many samples as are looked at told nothing, and they cost more than they save. */
  isCostly = false;
  private graphs = 0;
  private costMs = 0;

  /** A graph was made for further sizes, whose code took so much longer to make than to run once. */
  addGraph(costMs: number): void {
    this.costMs += costMs;
    this.isCostly = ++this.graphs >= ENOUGH && this.costMs > 0;
  }
}
