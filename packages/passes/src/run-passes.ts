/**
 * @file Runs passes in order, with logs, counters and checks.
 */
import type { GraphModule } from '@tessera/graph';
import {
  TesseraError,
  counters,
  defineConfig,
  log,
  option,
  registerLogArtifact,
} from '@tessera/shared';
import type { Pass } from './pass.js';

interface TestEnvironment {
  readonly process?: { readonly env?: { readonly VITEST?: string } };
}

const inTests = (globalThis as unknown as TestEnvironment).process?.env?.VITEST !== undefined;

const passesConfig = defineConfig('passes', {
  lint: option(inTests, 'check the graph after every pass (default: in tests)'),
});

registerLogArtifact(
  'passes:run',
  'every graph pass that ran and the graph after those that changed it',
);

/**
 * Runs passes on a module, in order; returns whether anything changed.
 *
 * @throws graph-lint when a pass leaves a broken graph and `config passes.lint` is on; the message names the pass
 */
export function runPasses(module: GraphModule, passes: readonly Pass[]): boolean {
  let changed = false;
  for (const pass of passes) {
    const before = module.graph.size;
    const did = pass.run(module);
    counters.inc('passes', pass.name, did ? 1 : 0);
    log(
      'passes:run',
      () =>
        `${pass.name}: ${before} → ${module.graph.size} nodes${did ? `\n${module.print()}` : ', no change'}`,
    );
    if (passesConfig.lint) lintAfter(module, pass);
    changed ||= did;
  }
  return changed;
}

function lintAfter(module: GraphModule, pass: Pass): void {
  try {
    module.lint();
  } catch (error) {
    throw new TesseraError(
      'graph-lint',
      `Pass '${pass.name}' left a broken graph: ${String(error)}`,
      {
        context: { pass: pass.name },
        hints: [
          'Change arguments through Node and Graph methods, and erase nodes after their users.',
        ],
        cause: error,
      },
    );
  }
}
