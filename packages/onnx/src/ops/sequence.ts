/**
 * @file Sequences of tensors, and optional values.
 */
import { type Tensor, cat, stack } from '@tessera/tensor';
import { HostArray } from '../run/host-array.js';
import type { NodeCall } from '../run/node-call.js';
import { type Value, isArray, isSequence } from '../run/value.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { splitSizes } from './shape.js';

/** A place in a sequence, counted from the end if it is negative. */
function place(call: NodeCall, input: number, length: number): number {
  const at = call.number(input);
  if (at < -length || at > length) call.fail(`place ${at} in a sequence of ${length}`);
  return at < 0 ? at + length : at;
}

function split(call: NodeCall): Tensor[] {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  const size = x.shape[dim]!;
  const isList = call.has(1) && call.array(1).ndim === 1;
  const part = call.has(1) && !isList ? call.number(1) : 1;
  const sizes = isList
    ? splitSizes(call, size)
    : Array.from({ length: Math.ceil(size / part) }, (_, i) => Math.min(part, size - i * part));
  const keeps = call.has(1) || call.flag('keepdims', true);
  let start = 0;
  return sizes.map((length) => {
    const piece = x.narrow(dim, (start += length) - length, length);
    return keeps ? piece : piece.squeeze(dim);
  });
}

function tensorsOf(call: NodeCall): Tensor[] {
  return call
    .sequence(0)
    .map((value) => (isArray(value) ? call.asTensor(value) : call.fail('an element is no tensor')));
}

/** Runs a graph on each element: a sequence for each of its outputs. */
function map(call: NodeCall): Value[] {
  const body = call.graph('body');
  const rest = call.inputs.slice(1);
  const results = call.sequence(0).map((value, i) => {
    const others = rest.map((other) => (isSequence(other) ? (other[i] ?? null) : other));
    return call.runGraph(body, [value, ...others]);
  });
  return body.outputs.map((_, output) => results.map((values) => values[output] ?? null));
}

/** Operators of the standard domain. */
export const sequences: OperatorTable = {
  SequenceConstruct: (call) => [...call.inputs],
  SequenceEmpty: () => [],
  SequenceLength: (call) => new HostArray('int64', [], [call.sequence(0).length]),
  SequenceAt: (call) => {
    const list = call.sequence(0);
    return list[place(call, 1, list.length)] ?? call.fail('there is no such element');
  },
  SequenceInsert: (call) => {
    const list = [...call.sequence(0)];
    list.splice(call.has(2) ? place(call, 2, list.length) : list.length, 0, call.array(1));
    return list;
  },
  SequenceErase: (call) => {
    const list = [...call.sequence(0)];
    list.splice(call.has(1) ? place(call, 1, list.length) : list.length - 1, 1);
    return list;
  },
  SplitToSequence: split,
  ConcatFromSequence: (call) =>
    call.flag('new_axis')
      ? stack(tensorsOf(call), call.int('axis'))
      : cat(tensorsOf(call), call.int('axis')),
  Optional: (call) => call.inputs[0] ?? null,
  OptionalGetElement: (call) => call.inputs[0] ?? call.fail('its value is left out'),
  OptionalHasElement: (call) => new HostArray('bool', [], [call.has(0) ? 1 : 0]),
};

/** Operators of the standard domain with several outputs. */
export const sequenceLists: ListOperatorTable = { SequenceMap: map };
