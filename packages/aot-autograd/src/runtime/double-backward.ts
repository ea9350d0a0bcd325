/**
 * @file Nodes that stand where a compiled program cannot, or need not, be differentiated.
 */
import { TesseraError } from '@tessera/shared';
import { GradNode, type Tensor } from '@tessera/tensor';
import { type Edge, gradEdge } from '@tessera/tensor/internal';

function metaOf(tensor: Tensor | null): {
  sizes: readonly number[];
  dtype: Tensor['dtype'];
  device: Tensor['device'];
} {
  return tensor === null
    ? { sizes: [], dtype: 'float32', device: 'cpu' }
    : { sizes: tensor.sizes, dtype: tensor.dtype, device: tensor.device };
}

/** History of gradients that a compiled backward made under createGraph. */
export class CompiledDoubleBackward extends GradNode {
  constructor(
    results: readonly (Tensor | null)[],
    inputs: readonly (Edge | null)[],
    grads: readonly (Tensor | null)[],
  ) {
    super(
      'CompiledFunctionBackwardBackward',
      [...inputs, ...grads.map((grad) => (grad === null ? null : gradEdge(grad)))],
      results.map(metaOf),
    );
  }

  override apply(): never {
    throw new TesseraError(
      'double-backward-compiled',
      'torch.compile with aot_autograd does not currently support double backward: the gradient of a compiled function was differentiated.',
      {
        hints: [
          'Compute the first gradient inside the compiled function, or do not compile the part that is differentiated twice.',
        ],
      },
    );
  }
}

/**
 * History of a result whose graph a `backward()` inside the compiled program used up. `grad()` with respect to what
 * that graph led to runs into it; what it did not lead to is as unused as in eager mode.
 */
export class ConsumedBackward extends GradNode {
  constructor(value: Tensor, edges: readonly (Edge | null)[]) {
    super('ConsumedBackward', edges, [metaOf(value)]);
  }

  override apply(): never {
    throw new TesseraError(
      'backward-twice',
      'Trying to backward through the graph a second time: the compiled function ran backward() through this part already.',
      { hints: ['Call backward() once, inside or outside the compiled function.'] },
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
