/**
 * @file Who watches compilations: tests, tools, and what Node writes down of them (`node.ts`). A page has only the code of
 * those that it imports.
 */
import type { CompiledFunction } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';
import type { CompiledGraph } from '@tessera/inductor-core';
import { defineConfig, environmentVariable, option } from '@tessera/shared';

/** Called for every graph that `inductor` compiles: for each part of one that was split by device. */
export type CompilationObserver = (graph: GraphModule, compiled: CompiledGraph) => void;

const observers = new Set<CompilationObserver>();

/** Watches compilations until the returned function is called: for tests, tools and the explorer. */
export function observeCompilations(observer: CompilationObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

/** Shows a compilation to those who watch. */
export function showCompilation(graph: GraphModule, compiled: CompiledGraph): void {
  for (const observer of observers) observer(graph, compiled);
}

/** Where compilations are written down. A page may set it too: nothing is written there. */
export const debugConfig: { readonly debugDir: string } = defineConfig('', {
  debugDir: option(
    environmentVariable('TESSERA_DEBUG_DIR') ?? '',
    'folder that gets one folder per compile (TESSERA_DEBUG_DIR); empty for none',
  ),
});

/** What is written of one compile. */
export interface CompilationRecord {
  /** Runs a part of the compile. */
  during<R>(fn: () => R): R;
  /** Keeps the joint graph of a compile that has a backward pass. */
  addJoint(module: GraphModule): void;
}

/** Writes compiles down, from capture to the end of the call that compiled. */
export interface CompilationRecorder {
  /** The record of a compile that begins; null if none is wanted. */
  open(captured: GraphModule): CompilationRecord | null;
  /** A call of this function has returned. */
  finish(compiled: CompiledFunction): void;
}

let recorder: CompilationRecorder | null = null;

/** Makes this what writes compiles down. */
export function recordCompilations(next: CompilationRecorder): void {
  recorder = next;
}

/** What writes compiles down; null where nothing does. */
export function compilationRecorder(): CompilationRecorder | null {
  return recorder;
}
