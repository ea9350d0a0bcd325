/**
 * @file Random operators inside `vmap`: refused, one draw for all examples, or one draw each.
 */
import { TesseraError } from '@tessera/shared';
import type { OpOverload } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { stack } from '../../ops/arrange/join.js';
import { onesLike } from '../../ops/factory/like.js';
import { mul } from '../../ops/pointwise/arithmetic.js';
import { select } from '../../ops/view/slice.js';
import { expand } from '../../ops/view/view.js';
import { type BatchCall, mapResult } from '../batch-call.js';

/** What random operators inside `vmap` do. */
export type Randomness = 'error' | 'same' | 'different';

/** @throws vmap-randomness */
export function checkRandomness(op: OpOverload, randomness: Randomness): void {
  if (randomness !== 'error') return;
  throw new TesseraError(
    'vmap-randomness',
    `vmap: called random operation ${op.schema.name} while in randomness error mode.`,
    {
      hints: [
        "Pass randomness: 'different' for numbers of its own for each example, or 'same' for one draw for all.",
      ],
    },
  );
}

/** Values of these matter only for their shape and type. */
const IGNORES_VALUES = [
  'rand_like',
  'randn_like',
  'uniform',
  'normal_functional',
  'bernoulli.p',
].map((name) => `aten::${name}`);

/** One draw for all examples of an operator on batched tensors. @throws vmap-randomness */
export function drawSame(call: BatchCall): unknown {
  const name = call.op.qualifiedName;
  const [self] = call.tensors();
  const one = select(call.values(self!), 0, 0);
  const spread = (tensor: Tensor): Tensor => expand(tensor, [call.size, ...tensor.sizes]);
  if (IGNORES_VALUES.includes(name)) return spread(call.run(call.mapTensors(() => one)) as Tensor);
  if (name === 'aten::native_dropout') {
    const [scale, mask] = call.run(call.mapTensors(() => onesLike(one))) as [Tensor, Tensor];
    return [mul(call.values(self!), scale), spread(mask)];
  }
  throw new TesseraError(
    'vmap-randomness',
    `vmap: ${call.op.schema.name} of tensors that differ between examples cannot be the same draw for all.`,
    { hints: ["Pass randomness: 'different'."] },
  );
}

/** A draw of its own for each example. */
export function drawDifferent(call: BatchCall): unknown {
  const size = call.op.argIndex.get('size');
  const [self] = call.tensors();
  if (self === undefined && size !== undefined)
    return call.run(
      call.replaced(call.args, { size: [call.size, ...(call.args[size] as number[])] }),
    );
  if (self === undefined)
    return stack(
      Array.from({ length: call.size }, () => call.run(call.args) as Tensor),
      0,
    );
  // [N, categories] per example: the rows of all examples.
  if (call.op.schema.name === 'multinomial' && self.ndim === 2)
    return mapResult(call.run(call.mapTensors((tensor) => call.folded(tensor))), (tensor) =>
      call.unfolded(tensor),
    );
  return call.run(
    call.mapTensors((tensor) =>
      call.isBatched(tensor) ? call.values(tensor) : call.spread(tensor).clone(),
    ),
  );
}
