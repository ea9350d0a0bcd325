/**
 * @file Outputs of a graph: values get memory in the recorded layout.
 *
 * A buffer made for another reason serves as the output's memory where its elements lie as recorded,
 * also through a view; otherwise the output is a copy, which the scheduler usually fuses.
 */
import { type Size, type Steps, TesseraError } from '@tessera/shared';
import { type Argument, Node } from '@tessera/graph';
import type { IrBuffer, IrOutput } from './ir-node.js';
import { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import type { RecordedResult } from './registry.js';
import { type Shape, isDense, isEmpty, isSame, numelOf, rowMajorStrides } from './shape-math.js';

/** Entries of the graph's output value: one value, or a list of them. */
function entriesOf(output: Argument): readonly Argument[] {
  return Array.isArray(output) ? output : [output];
}

/** Makes the outputs, with a pause after each. @throws graph-lint for structures other than a flat list */
export function* outputSteps(
  l: Lowering,
  output: Argument,
  valueOf: (node: Node) => unknown,
  recordedOf: (node: Node) => RecordedResult | null,
): Steps<IrOutput<Size>[]> {
  l.origin = { op: 'output', node: null };
  let position = 0;
  const outputs: IrOutput<Size>[] = [];
  for (const entry of entriesOf(output)) {
    outputs.push(lowerOutput(l, entry, valueOf, recordedOf, position));
    if (outputs.at(-1)!.kind === 'tensor') position++;
    yield;
  }
  return outputs;
}

/** Makes the output of this position among those that are tensors. */
function lowerOutput(
  l: Lowering,
  entry: Argument,
  valueOf: (node: Node) => unknown,
  recordedOf: (node: Node) => RecordedResult | null,
  position: number,
): IrOutput<Size> {
  if (!(entry instanceof Node)) {
    if (typeof entry === 'object' && entry !== null) throw notFlat();
    return { kind: 'value', value: (entry ?? null) as number | boolean | string | null };
  }
  const value = valueOf(entry);
  const recorded = recordedOf(entry);
  // A result that the op left out (a gradient that nobody asked for) is an empty tensor.
  if (!(value instanceof LoweredTensor) && recorded !== null && isEmpty(recorded.shape)) {
    const { dtype, shape, layout } = recorded;
    return { kind: 'tensor', buffer: null, dtype, sizes: shape, strides: layout };
  }
  if (!(value instanceof LoweredTensor)) throw notFlat();
  const eager = recorded?.layout ?? value.layout ?? [];
  // An expanded value (the gradient of a sum) is returned with memory of its own.
  const strides = isDense(value.shape, eager) ? eager : rowMajorStrides(value.shape);
  const buffer = isEmpty(value.shape) ? null : outputBuffer(l, value, strides);
  if (buffer !== null) buffer.output = position;
  return { kind: 'tensor', buffer, dtype: value.dtype, sizes: value.shape, strides };
}

function notFlat(): TesseraError {
  return new TesseraError(
    'graph-lint',
    'The output of a graph for inductor must be a tensor or a flat list of tensors and plain values.',
    {
      hints: [
        'Flatten nested structures before compiling (treeFlatten) and restore them after the call.',
      ],
    },
  );
}

function outputBuffer(l: Lowering, value: LoweredTensor, strides: Shape): IrBuffer {
  if (!value.isRealized && !value.isView) {
    value.layout = strides;
    return value.realize();
  }
  const buffer = value.realize();
  if (buffer.kind === 'computed' && buffer.output < 0 && liesAs(l, value, buffer, strides))
    return buffer;
  return l.storeValue(value.expr, value.dtype, value.shape, strides);
}

/** Whether the buffer's memory, read with `strides`, is the value. */
function liesAs(l: Lowering, value: LoweredTensor, buffer: IrBuffer, strides: Shape): boolean {
  const { expr } = value;
  if (expr.kind !== 'load' || !isSame(numelOf(buffer.sizes), numelOf(value.shape))) return false;
  const wanted = l.ir.add(...l.vars(value.shape).map((v, d) => l.ir.scale(v, strides[d]!)));
  return expr.index === wanted;
}
