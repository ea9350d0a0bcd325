/**
 * @file Where the arguments of an exported function hold one tensor again: the graph is for such arguments alone.
 */
import { type ExportedDuplicate, printSource } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';
import type { Sources } from '../guards/sources.js';
import { walk } from '../guards/walk.js';

/** Places besides the first of the tensors that are inputs; of parameters none. */
export function duplicatesOf(sources: Sources, inputs: readonly Tensor[]): ExportedDuplicate[] {
  const found: ExportedDuplicate[] = [];
  sources.roots.forEach(({ name, value }, root) =>
    walk(
      value,
      { root: name, steps: [] },
      {
        tensor: (tensor, source) => {
          const input = inputs.indexOf(tensor);
          if (input < 0 || source.steps.some((step) => step.kind === 'property' && step.tracked))
            return;
          const first = sources.locate(tensor)!;
          if (first.root !== root || printSource(first.source) !== printSource(source))
            found.push({ root, source, input });
        },
      },
      true,
    ),
  );
  return found;
}
