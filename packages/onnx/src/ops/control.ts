/**
 * @file Control flow: which graph runs, and how often, is decided while the program runs.
 *
 * Conditions and counts that come from shapes and constants are known to the host, so that a compiled call unrolls
 * them; others are read from their tensor, which ends a compiled graph there.
 */
import { type Tensor, stack, zeros } from '@tessera/tensor';
import { HostArray } from '../run/host-array.js';
import type { NodeCall } from '../run/node-call.js';
import { type Value, isArray } from '../run/value.js';
import type { ListOperatorTable } from '../registry.js';
import { range } from './like.js';

function branch(call: NodeCall): Value[] {
  const isTrue = call.number(0) !== 0;
  return call.runGraph(call.graph(isTrue ? 'then_branch' : 'else_branch'), []);
}

/** Values of one output of every round, as one tensor. @throws onnx-invalid for sequences */
function stacked(call: NodeCall, values: readonly Value[], dim: number, output: number): Tensor {
  const tensors = values.map((value) =>
    isArray(value) ? call.asTensor(value) : call.fail(`output ${output} of its body is no tensor`),
  );
  return stack(tensors, dim);
}

/**
 * What rounds give, where there may have been none: then the body runs all the same, and its values say what sizes there
 * are no elements of.
 */
function collectedFrom(
  call: NodeCall,
  collected: readonly (readonly Value[])[],
  run: () => readonly Value[],
  first: number,
  axes: readonly number[],
): Tensor[] {
  if (collected[0]?.length !== 0)
    return collected.map((values, i) => stacked(call, values, axes[i]!, first + i));
  return run().map((value, i) => {
    const one = stacked(call, [value], axes[i]!, first + i);
    return one.narrow(axes[i]!, 0, 0);
  });
}

/** Rounds while a condition holds; values are carried from round to round, others are collected. */
function loop(call: NodeCall): Value[] {
  const body = call.graph('body');
  const limit = call.has(0) ? call.number(0) : Infinity;
  let goesOn = !call.has(1) || call.number(1) !== 0;
  let carried: readonly Value[] = call.inputs.slice(2);
  const collected: Value[][] = body.outputs.slice(1 + carried.length).map(() => []);
  const run = (round: number): Value[] => {
    const count = new HostArray('int64', [], [round]);
    const condition = new HostArray('bool', [], [1]);
    return call.runGraph(body, [count, condition, ...carried]);
  };
  for (let round = 0; round < limit && goesOn; round++) {
    const [next, ...values] = run(round);
    carried = values.slice(0, carried.length);
    values.slice(carried.length).forEach((value, i) => collected[i]!.push(value));
    goesOn = isArray(next!) ? call.truth(next) : call.fail('its body gives no condition');
  }
  const given = carried.length;
  const sample = (): Value[] => run(0).slice(1 + given);
  const axes = collected.map(() => 0);
  return [...carried, ...collectedFrom(call, collected, sample, given, axes)];
}

/** A body over slices of inputs. Before opset 9 there was a batch dimension in front. */
function scan(call: NodeCall): Value[] {
  const hasBatch = call.opset < 9;
  const body = call.graph('body');
  const count = call.int('num_scan_inputs');
  const given = call.inputs.slice(hasBatch ? 1 : 0);
  const states = given.slice(0, given.length - count);
  const first = call.inputs.length - count;
  const scanned = range(count).map((i) => call.tensor(first + i));
  if (!hasBatch) return scanOnce(call, states, scanned);
  const batch = scanned[0]!.shape[0]!;
  const at = (value: Value, b: number): Tensor =>
    isArray(value) ? call.asTensor(value).select(0, b) : call.fail('a state is no tensor');
  const each = range(batch).map((b) =>
    scanOnce(
      call,
      states.map((value) => at(value, b)),
      scanned.map((value) => value.select(0, b)),
    ),
  );
  return body.outputs.map((_, i) =>
    stacked(
      call,
      each.map((values) => values[i]!),
      0,
      i,
    ),
  );
}

function scanOnce(call: NodeCall, initial: readonly Value[], scanned: readonly Tensor[]): Value[] {
  const body = call.graph('body');
  const outputs = body.outputs.length - initial.length;
  const list = (name: string, length: number): readonly number[] =>
    call.ints(name) ?? Array<number>(length).fill(0);
  const [axes, backward] = [
    list('scan_input_axes', scanned.length),
    list(call.opset < 9 ? 'directions' : 'scan_input_directions', scanned.length),
  ];
  const [outAxes, outBackward] = [
    list('scan_output_axes', outputs),
    list('scan_output_directions', outputs),
  ];
  const rounds = scanned[0]!.shape[call.dim(axes[0]!, scanned[0]!.ndim)]!;
  let states = initial;
  const run = (slices: readonly Tensor[]): Value[] => call.runGraph(body, [...states, ...slices]);
  const sample = (): Value[] => {
    const shapes = scanned.map((x, i) => x.shape.toSpliced(call.dim(axes[i]!, x.ndim), 1));
    const empty = scanned.map(({ dtype }, i) => zeros(shapes[i]!, { dtype, device: call.device }));
    return run(empty).slice(states.length);
  };
  const collected: Value[][] = range(outputs).map(() => []);
  for (let round = 0; round < rounds; round++) {
    const slices = scanned.map((x, i) =>
      x.select(axes[i]!, backward[i] === 0 ? round : rounds - 1 - round),
    );
    const values = run(slices);
    states = values.slice(0, states.length);
    values.slice(states.length).forEach((value, i) => {
      if (outBackward[i] === 0) collected[i]!.push(value);
      else collected[i]!.unshift(value);
    });
  }
  return [...states, ...collectedFrom(call, collected, sample, 0, outAxes)];
}

/** Operators of the standard domain. */
export const controlLists: ListOperatorTable = { If: branch, Loop: loop, Scan: scan };
