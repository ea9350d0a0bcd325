/**
 * @file Constants of a node's attributes, and inputs in the type that operators of this domain compute in.
 */
import type { Tensor } from '@tessera/tensor';
import type { NodeCall } from '../../run/node-call.js';
import { isArray } from '../../run/value.js';

/** The tensor of a table. @throws onnx-invalid if the node has none */
export function constantOf(call: NodeCall, name: string): Tensor {
  return optionalConstant(call, name) ?? call.fail(`attribute '${name.slice(1)}' is missing`);
}

/** The same, or null. */
export function optionalConstant(call: NodeCall, name: string): Tensor | null {
  const literal = call.literal(name);
  if (literal === null) return null;
  const value = call.constant(literal);
  return isArray(value) ? call.asTensor(value) : null;
}

/** An input as rows [N, F] of floats: a list is one row; float64 stays, all else is float32. */
export function rowsOf(call: NodeCall, input = 0): Tensor {
  const value = call.array(input);
  const x = call.asTensor(value);
  const floats = x.dtype === 'float64' ? x : x.to('float32');
  if (x.ndim === 2) return floats;
  return x.ndim < 2 ? floats.reshape([1, -1]) : floats.flatten(1);
}
