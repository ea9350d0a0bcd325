/**
 * @file Values that come from nowhere: constants, ranges, identity matrices.
 */
import { type Tensor, arange, eye, tensor } from '@tessera/tensor';
import { HostArray } from '../run/host-array.js';
import type { NodeCall } from '../run/node-call.js';
import type { Value } from '../run/value.js';
import type { OperatorTable } from '../registry.js';
import { elementType } from '../model/element-types.js';

function constant(call: NodeCall): Value {
  const literal = call.literal('value');
  if (literal !== null) return call.constant(literal);
  if (call.hasAttribute('value_float'))
    return new HostArray('float32', [], [call.float('value_float')]);
  if (call.hasAttribute('value_int')) return new HostArray('int64', [], [call.int('value_int')]);
  const floats = call.floats('value_floats');
  if (floats !== null) return new HostArray('float32', [floats.length], floats);
  const ints = call.ints('value_ints') ?? call.fail('it has no value, or one of strings');
  return new HostArray('int64', [ints.length], ints);
}

/** Numbers from start to limit, exclusive. */
export function range(call: NodeCall): Tensor {
  // Of the contrib domain the step may be left out.
  const [start, limit, delta] = [call.number(0), call.number(1), call.has(2) ? call.number(2) : 1];
  if (delta === 0) call.fail('its step is 0');
  const dtype = call.dtype(0);
  const count = Math.max(0, Math.ceil((limit - start) / delta));
  if (count === 0) return tensor([], { dtype, device: call.device });
  return arange(start, limit, delta, { dtype, device: call.device });
}

function eyeLike(call: NodeCall): Tensor {
  const [rows, columns] = call.shape(0);
  const dtype = call.hasAttribute('dtype')
    ? (elementType(call.int('dtype'))?.dtype ?? call.fail('its dtype is not supported'))
    : call.dtype(0);
  const k = call.int('k', 0);
  // Ones of a larger identity matrix, from the k-th diagonal on.
  const size = Math.max(rows, columns) + Math.abs(k);
  const whole = eye(size, size, { dtype, device: call.device });
  return whole.narrow(0, Math.max(0, k), rows).narrow(1, Math.max(0, -k), columns);
}

/** Operators of the standard domain. */
export const constants: OperatorTable = { Constant: constant, Range: range, EyeLike: eyeLike };
