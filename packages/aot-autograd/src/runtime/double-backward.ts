/**
 * @file Nodes that stand where a compiled program cannot, or need not, be differentiated.
 */
import { TesseraError } from '@tessera/shared';
import { GradNode, type Tensor } from '@tessera/tensor';
import { type Edge, EndOfGraph, gradEdge, metaOf } from '@tessera/tensor/internal';

/** History of gradients that a compiled backward made under createGraph. */
export function compiledDoubleBackward(
  results: readonly (Tensor | null)[],
  inputs: readonly (Edge | null)[],
  grads: readonly (Tensor | null)[],
): GradNode {
  return new EndOfGraph(
    'CompiledFunctionBackwardBackward',
    [...inputs, ...grads.map((grad) => (grad === null ? null : gradEdge(grad)))],
    results.map((result) => metaOf(result ?? NO_GRADIENT)),
    'the gradient of a compiled function',
    [
      'Compute the first gradient inside the compiled function, or do not compile the part that is differentiated twice.',
    ],
  );
}

const NO_GRADIENT = { sizes: [], dtype: 'float32', device: 'cpu' } as const;

/**
 * History of a result whose graph cannot run any more: a `backward()` inside the compiled program used it up, or the
 * program modified what it had saved (an optimizer its parameters). `grad()` with respect to what that graph led to runs
 * into it; what it did not lead to is as unused as in eager mode.
 */
export class ConsumedBackward extends GradNode {
  constructor(
    value: Tensor,
    edges: readonly (Edge | null)[],
    private readonly modified: string | null,
  ) {
    super('CompiledFunctionBackward', edges, [metaOf(value)]);
  }

  override apply(): never {
    const { modified } = this;
    throw new TesseraError(
      modified === null ? 'backward-twice' : 'inplace-version',
      modified ??
        'Trying to backward through the graph a second time: the compiled function ran backward() through this part already.',
      { hints: ['Differentiate it inside the function alone, or return it detached: x.detach().'] },
    );
  }
}

/** History of a result whose gradients go only to leaves that the compiled program made and nobody else has. */
export class UnseenLeaves extends GradNode {
  constructor(value: Tensor) {
    super('UnseenLeaves', [], [metaOf(value)]);
  }

  override apply(): readonly (Tensor | null)[] {
    return [];
  }
}
