/**
 * @file Batching of differentiation: gradients of each example.
 *
 * Histories are recorded for the values, that is for all examples at once. The gradient of an example's output
 * with respect to its own input is then the gradient of the sum over the examples, since no example depends on
 * the input of another. So whatever is differentiated must have an input per example (`leaf`), or be shared by all
 * examples, which differ in the direction then.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { Tensor } from '../../tensor.js';
import { stack } from '../../ops/arrange/join.js';
import { onesLike } from '../../ops/factory/like.js';
import { movedim } from '../../ops/view/dims.js';
import { select } from '../../ops/view/slice.js';
import type { BatchCall, BatchRule } from '../batch-call.js';

/** `tessera::leaf(self)`: every example gets a leaf of its own. */
export const leaf: BatchRule = (call) => call.run([call.spread(call.tensors()[0]!)]);

/** `tessera::outer_history(self, leaves)`: the histories are those of the values. */
export const outer: BatchRule = (call) => {
  const [self, ...leaves] = call.tensors();
  return call.run([call.spread(self), leaves.map((own) => ownValue(call, own))]);
};

/** What a leaf stands for; itself if all examples share it. */
function ownValue(call: BatchCall, leaf: Tensor): Tensor {
  return call.batch(leaf)?.value ?? leaf;
}

type Gradients = readonly (Tensor | null)[];

interface Request {
  readonly outputs: readonly Tensor[];
  readonly grad_outputs: readonly (Tensor | null)[];
  readonly inputs: readonly Tensor[];
  readonly retain_graph: boolean;
}

/** `tessera::autograd_grad(outputs, grad_outputs, inputs)` @throws vmap-unsupported, grad-non-scalar */
export const gradients: BatchRule<Request, Gradients> = (call) => {
  const request = call.named;
  const { outputs, grad_outputs: seeds, inputs, retain_graph } = request;
  if (!call.isBatched(outputs) && !inputs.every((input) => call.isBatched(input)))
    return alongSeeds(call, request);
  const shared = inputs.findIndex((input) => !call.isBatched(input));
  if (shared >= 0)
    throw new TesseraError(
      'vmap-unsupported',
      `vmap: input ${shared} of grad() is shared by all examples, so it has no gradient of its own for each.`,
      {
        hints: [
          'Use grad(fn) of @tessera/tensor/func inside vmap, which gives every example its own input.',
          'Or differentiate outside of vmap, for the gradient of the sum.',
        ],
      },
    );
  // What does not depend on the example does not depend on its inputs either.
  const own = outputs.flatMap((output, i) => (call.isBatched(output) ? [i] : []));
  if (own.length === 0) return inputs.map(() => null);
  const found = callOp(call.op, [
    own.map((i) => call.values(outputs[i]!)),
    own.map((i) => seedOf(call, outputs[i]!, seeds[i] ?? null)),
    inputs.map((input) => ownValue(call, input)),
    retain_graph,
  ]);
  return found.map((grad, i) => {
    const { dim } = call.batch(inputs[i]!)!;
    return grad === null || dim === 0 ? grad : movedim(grad, dim, 0);
  });
};

/** Gradients of outputs that all examples share, along the direction of each. */
function alongSeeds(call: BatchCall<Request, Gradients>, request: Request): (Tensor | null)[] {
  const { outputs, grad_outputs, inputs, retain_graph } = request;
  const leaves = inputs.map((input) => ownValue(call, input));
  const seedAt = (seed: Tensor | null, i: number): Tensor | null =>
    seed !== null && call.isBatched(seed) ? select(call.values(seed), 0, i) : seed;
  const rows = Array.from({ length: call.size }, (_, i) => {
    const seeds = grad_outputs.map((seed) => seedAt(seed, i));
    return call.run([outputs, seeds, leaves, retain_graph || i < call.size - 1]);
  });
  return inputs.map((_, at) => {
    const grads = rows.flatMap((row) => row[at] ?? []);
    return grads.length === 0 ? null : stack(grads, 0);
  });
}

/** @throws grad-non-scalar */
function seedOf(call: BatchCall, output: Tensor, seed: Tensor | null): Tensor {
  if (seed !== null) return call.spread(seed);
  if (output.numel === 1) return onesLike(call.values(output));
  throw new TesseraError(
    'grad-non-scalar',
    'grad can be implicitly created only for scalar outputs',
    { hints: ['Reduce to a scalar, or pass gradOutputs.'] },
  );
}
