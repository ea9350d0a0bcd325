/**
 * @file Collectives as operators of graphs: `_c10d_functional::all_reduce` and its kin.
 *
 * A start and a wait, as in PyTorch: the start gives a tensor that is being filled, `wait_tensor` gives the same
 * values once they are there. The tags keep them in every graph, in one order on all ranks; compilers run starts as
 * early and waits as late as their operands permit. Graphs name groups, so that they stay data.
 */
import { TesseraError } from '@tessera/shared';
import { type OpOverload, type Tensor, type TensorMeta, callOp } from '@tessera/tensor';
import { contiguousStrides, defineOp, getOp, type OpTag } from '@tessera/tensor/internal';
import type { Communicator, Pending, ReduceOp } from '../communicator.js';
import { type HostBuffer, tensorBuffer } from '../host-buffer.js';
import { groupNamed } from '../process-group.js';
import { finishFilling, noteStarted } from './in-flight.js';

declare module '@tessera/tensor/internal' {
  interface SchemaWords {
    reduce_op: ReduceOp;
  }
}

const STARTS: readonly OpTag[] = ['effect', 'starts'];
const copy = getOp('aten::copy_');

function filled({ dtype, device }: Tensor, sizes: readonly number[]): TensorMeta {
  return { dtype, device, sizes, strides: contiguousStrides(sizes) };
}

function copyInto(out: Tensor, input: Tensor): void {
  if (out.dataPtr() !== input.dataPtr()) callOp(copy, [out, input, false]);
}

/** A contiguous tensor that nothing else writes while the operation reads it. */
function privateCopy(input: Tensor): Tensor {
  return input.contiguous().clone();
}

/** Arguments of every operation. */
interface Collective {
  readonly input: Tensor;
  readonly group_name: string;
}

type Begin = (communicator: Communicator, input: HostBuffer, output: HostBuffer) => Pending;

/** The kernel of an operation that reads one tensor and fills another. */
function starting<Args extends Collective>(begin: (args: Args) => Begin) {
  return (args: Args, [out]: readonly Tensor[]): void => {
    const input = privateCopy(args.input);
    const { communicator } = groupNamed(args.group_name);
    const pending = begin(args)(communicator, tensorBuffer(input), tensorBuffer(out!));
    noteStarted(out!, pending, [input]);
  };
}

/** The kernel of an operation that overwrites its tensor. */
function startingInPlace<Args extends Collective>(begin: (args: Args) => Begin) {
  return (args: Args, [out]: readonly Tensor[]): void => {
    copyInto(out!, args.input);
    const { communicator } = groupNamed(args.group_name);
    const buffer = tensorBuffer(out!);
    noteStarted(out!, begin(args)(communicator, buffer, buffer));
  };
}

/** Sizes with the first one multiplied. */
function scaledRows([rows = 1, ...others]: readonly number[], by: number): number[] {
  return [rows * by, ...others];
}

function perRank({ sizes }: Tensor, ranks: number): number {
  const rows = sizes[0] ?? 1;
  if (rows % ranks === 0) return rows / ranks;
  throw new TesseraError(
    'shape-mismatch',
    `reduce_scatter_tensor: the first dimension, ${rows}, does not divide by the ${ranks} ranks of the group.`,
    { hints: ['Pad the tensor, or scatter another dimension.'] },
  );
}

/** Gradients of `sum` and `avg` are sums and averages; of the others there are none. */
function differentiable(name: string, op: ReduceOp): ReduceOp {
  if (op === 'sum' || op === 'avg') return op;
  throw new TesseraError(
    'derivative-missing',
    `derivative for _c10d_functional::${name} with '${op}' is not implemented`,
    { hints: ["Gradients flow through 'sum' and 'avg'; detach() the tensor for others."] },
  );
}

/** `_c10d_functional::wait_tensor`. */
export const waitOp: OpOverload<Tensor> = defineOp(
  '_c10d_functional::wait_tensor(Tensor tensor) -> Tensor',
  {
    tags: ['effect', 'waits'],
    kernelInPlace: true,
    meta: ({ tensor }) => filled(tensor, tensor.sizes),
    kernel: ({ tensor }, [out]) => {
      finishFilling(tensor);
      copyInto(out!, tensor);
    },
    vjp: (_args, { grad }) => ({ tensor: grad }),
  },
);

function finished(op: OpOverload<Tensor>, args: readonly unknown[]): Tensor {
  return callOp(waitOp, [callOp(op, args)]);
}

/** `_c10d_functional::all_reduce`. */
export const allReduceOp: OpOverload<Tensor> = defineOp(
  '_c10d_functional::all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor',
  {
    tags: STARTS,
    kernelInPlace: true,
    meta: ({ input }) => filled(input, input.sizes),
    kernel: startingInPlace(
      ({ reduce_op }) =>
        (communicator, buffer) =>
          communicator.allReduce(buffer, reduce_op),
    ),
    vjp: ({ reduce_op, group_name }, { grad }) => ({
      input: finished(allReduceOp, [grad, differentiable('all_reduce', reduce_op), group_name]),
    }),
  },
);

/** `_c10d_functional::broadcast`; `src` is a rank of the group. */
export const broadcastOp: OpOverload<Tensor> = defineOp(
  '_c10d_functional::broadcast(Tensor input, int src, str group_name) -> Tensor',
  {
    tags: STARTS,
    kernelInPlace: true,
    meta: ({ input }) => filled(input, input.sizes),
    kernel: startingInPlace(
      ({ src }) =>
        (communicator, buffer) =>
          communicator.broadcast(buffer, src),
    ),
    vjp: ({ src, group_name }, { grad }) => {
      const total = finished(allReduceOp, [grad, 'sum', group_name]);
      const isSource = groupNamed(group_name).rank === src;
      return { input: isSource ? total : total.zerosLike() };
    },
  },
);

/** `_c10d_functional::all_gather_into_tensor`: the ranks' tensors, one behind the other along the first dimension. */
export const allGatherOp: OpOverload<Tensor> = defineOp(
  '_c10d_functional::all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor',
  {
    tags: STARTS,
    meta: ({ input, group_size }) => filled(input, scaledRows(input.sizes, group_size)),
    kernel: starting(() => (communicator, input, output) => communicator.allGather(input, output)),
    vjp: ({ input, group_size, group_name }, { grad }) => ({
      input: finished(reduceScatterOp, [grad, 'sum', group_size, group_name]).view(input.sizes),
    }),
  },
);

/** `_c10d_functional::reduce_scatter_tensor`: each rank's part of the first dimension of the reduction. */
export const reduceScatterOp: OpOverload<Tensor> = defineOp(
  '_c10d_functional::reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor',
  {
    tags: STARTS,
    meta: ({ input, group_size }) => {
      const [, ...others] = input.sizes;
      return filled(input, [perRank(input, group_size), ...others]);
    },
    kernel: starting(
      ({ reduce_op }) =>
        (communicator, input, output) =>
          communicator.reduceScatter(input, output, reduce_op),
    ),
    vjp: ({ reduce_op, group_size, group_name }, { grad }) => {
      const op = differentiable('reduce_scatter_tensor', reduce_op);
      const whole = finished(allGatherOp, [grad, group_size, group_name]);
      return { input: op === 'avg' ? whole.div(group_size) : whole };
    },
  },
);

/** Rows of a tensor that go to, or come from, each rank, in elements. */
function elementCounts({ sizes }: Tensor, rows: readonly number[]): number[] {
  const width = sizes.slice(1).reduce((product, size) => product * size, 1);
  return rows.map((count) => count * width);
}

/** `_c10d_functional::all_to_all_single`: rows of the first dimension to every rank. */
export const allToAllOp: OpOverload<Tensor> = defineOp(
  '_c10d_functional::all_to_all_single(Tensor input, int[] output_split_sizes, int[] input_split_sizes, str group_name) -> Tensor',
  {
    tags: STARTS,
    meta: ({ input, output_split_sizes }) => {
      const [, ...others] = input.sizes;
      const rows = output_split_sizes.reduce((sum, size) => sum + size, 0);
      return filled(input, [rows, ...others]);
    },
    kernel: starting(
      ({ input, output_split_sizes, input_split_sizes }) =>
        (communicator, from, to) =>
          communicator.allToAll(
            from,
            to,
            elementCounts(input, input_split_sizes),
            elementCounts(input, output_split_sizes),
          ),
    ),
    vjp: ({ output_split_sizes, input_split_sizes, group_name }, { grad }) => ({
      input: finished(allToAllOp, [grad, input_split_sizes, output_split_sizes, group_name]),
    }),
  },
);
