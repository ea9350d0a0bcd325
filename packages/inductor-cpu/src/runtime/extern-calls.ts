/**
 * @file Extern calls: operators without a lowering, run between two segments of a plan.
 *
 * The operator's reference kernel gets tensors over the plan's own buffers; its results are copied into
 * the output buffers. A kernel that computes in place, or goes
 * on filling its results afterwards, writes there itself.
 */
import { TesseraError } from '@tessera/shared';
import type { ExternArg, ExternKernel, Launch, PlanBuffer } from '@tessera/inductor-core';
import {
  Storage,
  callOp,
  cpuHeap,
  isTensor,
  itemSize,
  noGrad,
  type DType,
  type Tensor,
} from '@tessera/tensor';
import {
  checkPromise,
  getOp,
  makeTensor,
  readNumbers,
  sameNumbers,
  withoutModes,
  writeNumbers,
} from '@tessera/tensor/internal';

type BufferArg = Extract<ExternArg, { kind: 'buffer' }>;

/** A buffer of an extern call in this run. */
interface ExternBuffer {
  readonly dtype: DType;
  readonly storage: Storage;
}

/**
 * Runs one extern launch; `planned` are the buffers of its plan, and `addressOf` gives the address of one in this run.
 *
 * @throws op-unknown, and whatever the operator throws
 */
export function runExtern(
  kernel: ExternKernel,
  launch: Launch,
  planned: readonly PlanBuffer[],
  addressOf: (buffer: number) => number,
  scalars: readonly number[],
): void {
  const buffers = new Map<string, ExternBuffer>();
  kernel.params.forEach(({ name }, position) => {
    const buffer = launch.buffers[position];
    const { dtype, numel } = planned[buffer];
    buffers.set(name, {
      dtype,
      storage: Storage.borrow(addressOf(buffer), numel * itemSize(dtype)),
    });
  });
  const values = new Map(
    kernel.scalars.map(({ name }, position) => [name, scalars[launch.scalars[position]]]),
  );
  const args = kernel.args.map((arg) => argumentValue(arg, buffers, values));
  const op = getOp(kernel.op);
  const ownsResults = op.record.kernelInPlace === true || op.hasTag('starts');
  if (ownsResults && op.record.kernel !== undefined) {
    const outs = kernel.outputs.map((output) => tensorOver(output, buffers));
    const { kernel: compute } = op.record;
    return withoutModes(() => noGrad(() => compute(op.bind(args), outs)));
  }
  // Inside an op: nothing is recorded, and no mode sees the call.
  const result = withoutModes(() => noGrad(() => callOp(op, args)));
  const results = (Array.isArray(result) ? result : [result]).filter(isTensor);
  if (results.length !== kernel.outputs.length) {
    throw new TesseraError(
      'plan-invalid',
      `${kernel.op} gave ${results.length} tensors; the plan expects ${kernel.outputs.length}.`,
      {
        hints: ['The plan was made for another version of the operator: compile again.'],
      },
    );
  }
  kernel.outputs.forEach((output, i) => {
    const out = tensorOver(output, buffers);
    if (op.isCustom) checkPromise(`The kernel of ${kernel.op}`, results[i], out);
    copyResult(results[i], out);
  });
  for (const { storage } of results) storage.release();
}

function tensorOver(arg: BufferArg, buffers: ReadonlyMap<string, ExternBuffer>): Tensor {
  const buffer = buffers.get(arg.name);
  if (buffer === undefined)
    throw new TesseraError(
      'plan-invalid',
      `An extern call uses buffer '${arg.name}', which is none of its parameters.`,
    );
  return makeTensor(buffer.storage, buffer.dtype, 'cpu', arg.sizes, arg.strides, arg.offset);
}

function argumentValue(
  arg: ExternArg,
  buffers: ReadonlyMap<string, ExternBuffer>,
  scalars: ReadonlyMap<string, number>,
): unknown {
  switch (arg.kind) {
    case 'buffer':
      return tensorOver(arg, buffers);
    case 'list':
      return arg.items.map((item) => argumentValue(item, buffers, scalars));
    case 'scalar':
      return scalars.get(arg.name);
    case 'value':
      return arg.value;
  }
}

/** Copies a result to its buffer: bytes where layouts agree, element by element otherwise. */
function copyResult(from: Tensor, to: Tensor): void {
  const isWhole =
    from.storageOffset === 0 && to.storageOffset === 0 && sameNumbers(from.strides, to.strides);
  if (isWhole && from.dtype === to.dtype) {
    const { ptr, nbytes } = from.storage;
    cpuHeap().u8.copyWithin(to.storage.ptr, ptr, ptr + Math.min(nbytes, to.storage.nbytes));
  } else {
    writeNumbers(to, readNumbers(from));
  }
}
