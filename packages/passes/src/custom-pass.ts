/**
 * @file The user's passes as passes of a pipeline.
 *
 * A function says nothing about whether it changed the graph, so the graph's revision does. Values of
 * nodes that it added are inferred where they are missing.
 */
import type { CustomPass } from './config.js';
import { inferMissingVals } from './infer-vals.js';
import type { Pass } from './pass.js';

/** The pass of a hook, under the hook's name; nothing if the hook is empty. */
export function customPass(hook: string, pass: CustomPass | null): readonly Pass[] {
  if (pass === null) return [];
  return [
    {
      name: hook,
      run(module) {
        const { revision } = module.graph;
        if (typeof pass === 'function') pass(module.graph, module);
        else pass.run(module);
        inferMissingVals(module);
        return module.graph.revision !== revision;
      },
    },
  ];
}
