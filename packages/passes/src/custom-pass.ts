/**
 * @file The user's passes as passes of a pipeline.
 *
 * A function says nothing about whether it changed the graph, so the graph's revision does. Values of
 * nodes that it added are inferred where they are missing. What comes after relies on the graph, so it is
 * checked here in any case: it must be whole, with the inputs and as many results as before.
 */
import { type GraphModule, graphError } from '@tessera/graph';
import type { CustomPass } from './config.js';
import { inferMissingVals } from './infer-vals.js';
import { lintAfter } from './lint-after.js';
import type { Pass } from './pass.js';

/** The pass of a hook, under the hook's name; nothing if the hook is empty. */
export function customPass(hook: string, pass: CustomPass | null): readonly Pass[] {
  if (pass === null) return [];
  return [
    {
      name: hook,
      run(module) {
        const { revision } = module.graph;
        const before = boundary(module);
        if (typeof pass === 'function') pass(module.graph, module);
        else pass.run(module);
        if (module.graph.revision === revision) return false;
        lintAfter(module, hook);
        const after = boundary(module);
        if (after !== before)
          throw graphError(
            `Pass '${hook}' changed what goes in or comes out: from ${before} to ${after}.`,
            'Keep placeholders, and give a value for every result.',
          );
        inferMissingVals(module);
        return true;
      },
    },
  ];
}

/** Names of the inputs and number of the results, in words. */
function boundary({ graph }: GraphModule): string {
  const inputs = graph.placeholders.map((node) => node.name);
  return `(${inputs.join(', ')}) → ${graph.results.length} results`;
}
