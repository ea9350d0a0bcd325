/**
 * @file The functional form of an in-place op: the new contents of `self`.
 */
import { type Argument, Node } from '@tessera/graph';
import type { OpOverload, Tensor } from '@tessera/tensor';
import { getOp, sameNumbers } from '@tessera/tensor/internal';
import type { Emitter } from './emitter.js';

/** Emits what `op(args)` leaves in `self`, whose layout in the old graph is `self`. */
export function functionalUpdate(
  emitter: Emitter,
  op: OpOverload,
  args: readonly Argument[],
  self: Tensor,
): Node {
  const functional = getOp(op.record.inplaceOf!);
  if (functional.qualifiedName === 'aten::copy' && args[1] instanceof Node)
    return copied(emitter, args[1], self);
  return cast(emitter, emitter.emit(functional, args), self);
}

/** A copied value is the value itself: nothing writes in a functional graph. */
function copied(emitter: Emitter, source: Node, self: Tensor): Node {
  const converted = cast(emitter, source, self);
  if (sameNumbers(emitter.val(converted).sizes, self.sizes)) return converted;
  return emitter.emit('aten::expand', [converted, [...self.sizes], false]);
}

function cast(emitter: Emitter, value: Node, self: Tensor): Node {
  const { dtype, device } = emitter.val(value);
  if (dtype === self.dtype && device === self.device) return value;
  return emitter.emit('aten::_to_copy', [
    value,
    self.dtype,
    null,
    device === self.device ? null : self.device,
    null,
    false,
    null,
  ]);
}
