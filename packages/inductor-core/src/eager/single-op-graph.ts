/**
 * @file A graph of one operator call, for eager ops that run as compiled code.
 */
import {
  type Argument,
  Graph,
  GraphModule,
  type Node,
  getItem,
  isBesideFloats,
  traceOnFakes,
  tensorVal,
} from '@tessera/graph';
import { type ScalarKind, scalarKind } from '@tessera/shared';
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import { dispatchBelowAutograd, fakeFromMeta, getOp } from '@tessera/tensor/internal';
import { EXACT_POWERS } from '../lower/ops/pointwise.js';

/** Where an input of the graph comes from: positions within the arguments. */
export type ArgPath = readonly number[];

/** A one-op graph and how to call it. */
export interface SingleOpGraph {
  readonly module: GraphModule;
  /** Tensor inputs, in placeholder order. */
  readonly tensors: readonly ArgPath[];
  /** Runtime scalars, in placeholder order. */
  readonly scalars: readonly ArgPath[];
}

/** A FakeTensor with the layout of a tensor. */
export function fakeLike(tensor: Tensor): Tensor {
  return fakeFromMeta({
    sizes: tensor.sizes,
    strides: tensor.strides,
    dtype: tensor.dtype,
    device: tensor.device,
  });
}

/** What a number is that is passed at run time: beside floats one of more than 32 bits is a float, as not all devices have such integers. */
export function liftedKind(value: number, args: readonly unknown[]): ScalarKind {
  const kind = scalarKind(value);
  return kind === 'int' && Math.abs(value) >= 2 ** 31 && isBesideFloats(args) ? 'float' : kind;
}

/** Whether a number at this argument is passed at run time, so that one kernel serves all values. */
export function isRuntimeScalar(op: OpOverload, index: number, arg: unknown): arg is number {
  if (typeof arg !== 'number') return false;
  // An integer parameter has no sign to give its zero.
  if (Object.is(arg, -0)) return false;
  const { base, list } = op.schema.args[index]!.type;
  // A square is no call of a function.
  if (arg in EXACT_POWERS && op.qualifiedName === 'aten::pow.Tensor_Scalar') return false;
  // Parameters of distributions are `float`s; elsewhere those are constants of the code, an epsilon for one.
  const isParameter = base === 'float' && op.hasTag('random');
  return !list && (base === 'Scalar' || base === 'Tensor' || isParameter);
}

/**
 * Builds the graph of `op(args)`, its results laid out as `outs`. If an output is also an input (an
 * in-place op), the graph ends in a `copy_` into that input.
 */
export function singleOpGraph(
  op: OpOverload,
  args: readonly unknown[],
  outs: readonly Tensor[],
  lift: boolean,
): SingleOpGraph {
  const graph = new Graph();
  const tensors: ArgPath[] = [];
  const scalars: ArgPath[] = [];
  const inputOf = new Map<Tensor, Node>();
  const placeholderFor = (tensor: Tensor, path: ArgPath): Node => {
    const node = graph.placeholder(`arg_${path.join('_')}`);
    node.meta.val = fakeLike(tensor);
    tensors.push(path);
    inputOf.set(tensor, node);
    return node;
  };
  const convert = (arg: unknown, path: ArgPath): Argument => {
    if (isTensor(arg)) return inputOf.get(arg) ?? placeholderFor(arg, path);
    if (lift && path.length === 1 && isRuntimeScalar(op, path[0]!, arg)) {
      const node = graph.placeholder(`scalar_${path[0]!}`);
      node.meta.val = arg;
      node.meta.scalar = { kind: liftedKind(arg, args) };
      scalars.push(path);
      return node;
    }
    if (Array.isArray(arg)) return arg.map((item, i) => convert(item, [...path, i]));
    return arg as Argument;
  };
  const nodeArgs = args.map((arg, i) => convert(arg, [i]));
  const call = graph.callFunction(op, nodeArgs);
  const isList = op.schema.returns.length > 1 || op.schema.returns[0]!.type.list;
  const vals = outs.map(fakeLike);
  call.meta.val = isList ? vals : vals[0]!;
  // A result without elements may be one that was masked out and is never computed.
  const results = isList
    ? vals.flatMap((val, i) =>
        val.numel === 0 ? [] : [withVal(graph.callFunction(getItem, [call, i]), val)],
      )
    : [call];
  const inPlace = inputOf.get(outs[0]!);
  if (inPlace !== undefined) {
    withVal(
      graph.callFunction(getOp('aten::copy_'), [inPlace, results[0]!, false]),
      tensorVal(inPlace)!,
    );
    graph.output([]);
  } else {
    graph.output(results);
  }
  return { module: new GraphModule([], graph), tensors, scalars };
}

/** The graph that `op(args)` is in terms of other operators, its numbers constants. */
export function expandedGraph(op: OpOverload, args: readonly unknown[]): SingleOpGraph {
  const positions = [...args.keys()].filter((i) => isTensor(args[i]));
  const module = traceOnFakes(
    (...tensors: readonly Tensor[]) => {
      const given = args.map((arg, i) => (isTensor(arg) ? tensors[positions.indexOf(i)] : arg));
      return dispatchBelowAutograd(op, given);
    },
    args.filter(isTensor),
    { stackTraces: false },
  );
  return { module, tensors: positions.map((i) => [i]), scalars: [] };
}

function withVal(node: Node, val: Tensor): Node {
  node.meta.val = val;
  return node;
}
