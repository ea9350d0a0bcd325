/**
 * @file `lintAfter`: checks the graph that a pass left, and names the pass if it is broken.
 */
import type { GraphModule } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';

/** Checks a graph. @throws graph-lint, which names the pass */
export function lintAfter(module: GraphModule, pass: string): void {
  try {
    module.lint();
  } catch (error) {
    throw new TesseraError('graph-lint', `Pass '${pass}' left a broken graph: ${String(error)}`, {
      context: { pass },
      hints: [
        'Change arguments through Node and Graph methods, and erase nodes after their users.',
      ],
      cause: error,
    });
  }
}
