/**
 * @file Runs passes in order, with logs, counters and checks.
 */
import type { GraphModule } from '@tessera/graph';
import {
  type Steps,
  atOnce,
  counters,
  defineConfig,
  environmentVariable,
  log,
  option,
  registerLogArtifact,
} from '@tessera/shared';
import { lintAfter } from './lint-after.js';
import type { Pass } from './pass.js';

const inTests = environmentVariable('VITEST') !== undefined;

const passesConfig = defineConfig('passes', {
  lint: option(inTests, 'check the graph after every pass (default: in tests)'),
});

registerLogArtifact(
  'passes:run',
  'every graph pass that ran and the graph after those that changed it',
);

/** Sees a pass that ran: the graph as it was, as text, and as it is. */
export type PassObserver = (pass: Pass, before: string, module: GraphModule) => void;

const observers = new Set<PassObserver>();

/** Watches passes until the returned function is called: for debug folders and tools. */
export function observePasses(observer: PassObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

/**
 * Runs passes on a module, in order; returns whether anything changed.
 *
 * @throws graph-lint when a pass leaves a broken graph and `config passes.lint` is on; the message names the pass
 */
export function runPasses(module: GraphModule, passes: readonly Pass[]): boolean {
  return atOnce(passSteps(module, passes));
}

/** `runPasses` with pauses after passes, and in them. @throws graph-lint */
export function* passSteps(module: GraphModule, passes: readonly Pass[]): Steps<boolean> {
  let changed = false;
  for (const pass of passes) {
    const before = module.graph.size;
    const textBefore = observers.size > 0 ? module.print() : '';
    const did = pass.steps === undefined ? pass.run(module) : yield* pass.steps(module);
    counters.inc('passes', pass.name, did ? 1 : 0);
    for (const observer of observers) observer(pass, textBefore, module);
    log(
      'passes:run',
      () =>
        `${pass.name}: ${before} → ${module.graph.size} nodes${did ? `\n${module.print()}` : ', no change'}`,
    );
    if (passesConfig.lint) lintAfter(module, pass.name);
    changed ||= did;
    yield;
  }
  return changed;
}
