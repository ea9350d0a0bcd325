/**
 * @file Calls of reference kernels, for operators without a lowering.
 */
import { type Size, SymInt, TesseraError } from '@tessera/shared';
import type { DeviceType, OpOverload } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';
import { inductorConfig } from '../config.js';
import { rangeOfSize } from '../ir/index-bounds.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { ExternArg } from '../ir/kernel.js';
import type { EffectKind, IrBuffer } from './ir-node.js';
import { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { type LoweredArg, type LoweringCall, RuntimeScalar } from './registry.js';
import { type Shape, fixedShape, rowMajorStrides } from './shape-math.js';

type BufferArg = Extract<ExternArg<Size>, { kind: 'buffer' }>;

/** The tensor as a strided view of a buffer; copied into one of its own if it is not. */
function stridedArg(
  l: Lowering,
  x: LoweredTensor,
): { readonly buffer: IrBuffer; readonly arg: BufferArg } {
  const buffer = x.realize();
  const layout = stridesOf(l, x);
  if (layout !== null)
    return { buffer, arg: { kind: 'buffer', name: buffer.name, sizes: x.shape, ...layout } };
  const copy = l.storeValue(x.expr, x.dtype, x.shape, null);
  return {
    buffer: copy,
    arg: {
      kind: 'buffer',
      name: copy.name,
      sizes: x.shape,
      strides: copy.strides,
      offset: 0,
    },
  };
}

/** Strides and offset of a realized tensor on its buffer, if it is a strided view that a tensor can be. */
function stridesOf(
  l: Lowering,
  x: LoweredTensor,
): { readonly strides: Shape; readonly offset: Size } | null {
  const { expr } = x;
  if (expr.kind !== 'load') return null;
  const { constant, terms } = l.ir.linear(expr.index);
  const vars = l.vars(x.shape);
  const known = new Set<IndexExpr>(vars.filter((v) => v.kind === 'sym'));
  for (const atom of terms.keys()) if (!known.has(atom)) return null;
  const fallback = rowMajorStrides(x.shape);
  const strides = vars.map((v, d) => (v.kind === 'sym' ? (terms.get(v) ?? 0) : fallback[d]!));
  // A tensor runs forwards: its kernel may bind the memory from the first element on.
  if (strides.some((stride) => rangeOfSize(stride).lo < 0)) return null;
  return { strides, offset: constant };
}

function isSize(arg: LoweredArg): arg is Size {
  return typeof arg === 'number' || arg instanceof SymInt;
}

function externArg(
  l: Lowering,
  arg: LoweredArg,
  reads: Set<IrBuffer>,
  op: string,
): ExternArg<Size> {
  if (arg instanceof LoweredTensor) {
    const { buffer, arg: made } = stridedArg(l, arg);
    reads.add(buffer);
    return made;
  }
  if (arg instanceof RuntimeScalar && arg.expr.kind === 'scalar')
    return { kind: 'scalar', name: arg.expr.name };
  if (Array.isArray(arg)) {
    if (arg.length > 0 && arg.every(isSize)) return { kind: 'value', value: arg };
    if (arg.length > 0 && arg.every((item) => typeof item === 'boolean'))
      return { kind: 'value', value: arg };
    return { kind: 'list', items: arg.map((item) => externArg(l, item, reads, op)) };
  }
  if (arg === null || arg === undefined) return { kind: 'value', value: null };
  if (isSize(arg) || typeof arg === 'string' || typeof arg === 'boolean')
    return { kind: 'value', value: arg };
  throw new TesseraError(
    'kernel-missing',
    `${op}: an argument cannot be passed to a reference kernel.`,
    { hints: ['Register a lowering for the operator.'] },
  );
}

/**
 * Refuses an operator without any lowering where `implicitFallbacks` is off. One whose lowering declines, as sorts
 * of long rows do, names its reference kernel itself.
 *
 * @throws kernel-missing
 */
export function checkFallback(l: Lowering, { op }: LoweringCall): void {
  // Without reference kernels there is nothing to fall back to, and an error of its own.
  if (inductorConfig.implicitFallbacks || !l.capabilities.extern) return;
  // What is done for its effect has no code to generate.
  if (getOp(op).hasTag('effect')) return;
  throw new TesseraError(
    'kernel-missing',
    `${op} has no lowering, and with inductor.implicitFallbacks off its reference kernel may not run instead.`,
    {
      context: { op },
      hints: [
        `Register one: registerLowering('${op}', fn).`,
        'Or leave inductor.implicitFallbacks on, and its reference kernel runs.',
      ],
    },
  );
}

function effectOf(op: OpOverload): EffectKind | null {
  if (op.hasTag('starts')) return 'starts';
  if (op.hasTag('waits')) return 'waits';
  return op.hasTag('effect') ? 'ordered' : null;
}

/**
 * The memory that a call computes in: that of its first argument, of which a call that starts something gets a copy
 * to itself, usually written by whoever makes the value. Null where a call that waits is given memory that is not
 * the graph's own.
 */
function memoryInPlace(l: Lowering, x: LoweredTensor, op: OpOverload): IrBuffer | null {
  if (!op.hasTag('waits')) return l.storeValue(x.expr, x.dtype, x.sizes, null);
  const buffer = x.wholeBuffer;
  return buffer?.kind === 'computed' ? buffer : null;
}

/** A call of a kernel that overwrites its first argument with its result; null where it cannot. */
function lowerInPlace(
  l: Lowering,
  [x, ...others]: readonly LoweredArg[],
  call: LoweringCall,
  op: OpOverload,
): LoweredTensor | null {
  const buffer = memoryInPlace(l, x as LoweredTensor, op);
  if (buffer === null) return null;
  const { name } = buffer;
  const [sizes, strides] = [fixedShape(buffer.sizes), fixedShape(buffer.strides)];
  const reads = new Set([buffer]);
  l.addExtern({
    op: call.op,
    effect: effectOf(op),
    args: [
      { kind: 'buffer', name, sizes, strides, offset: 0 },
      ...others.map((arg) => externArg(l, arg, reads, call.op)),
    ],
    reads: [...reads],
    outs: [buffer],
  });
  return l.fromBuffer(buffer);
}

/** Calls the reference kernel of an operator. @throws kernel-missing where the backend has none */
export function lowerExtern(
  l: Lowering,
  args: readonly LoweredArg[],
  call: LoweringCall,
  device: DeviceType,
): (LoweredTensor | null)[] {
  const op = getOp(call.op);
  if (!l.capabilities.extern) {
    throw new TesseraError(
      'kernel-missing',
      `${call.op} has no lowering, and device '${device}' cannot run reference kernels.`,
      {
        context: { op: call.op, device },
        hints: [
          'In a page it may come with use…() of @tessera/compile.',
          `Register one: registerLowering('${call.op}', fn).`,
          "Or move the tensors to 'cpu' for this operator.",
        ],
      },
    );
  }
  if (op.record.kernelInPlace === true) {
    const result = lowerInPlace(l, args, call, op);
    if (result !== null) return [result];
  }
  const reads = new Set<IrBuffer>();
  const externArgs = args.map((arg) => externArg(l, arg, reads, call.op));
  const outs = call.results.map((result) =>
    result === null ? null : l.newBuffer(result.dtype, result.shape, result.layout),
  );
  l.addExtern({
    op: call.op,
    effect: effectOf(op),
    args: externArgs,
    reads: [...reads],
    outs: outs.filter((out) => out !== null),
  });
  return outs.map((out) => (out === null ? null : l.fromBuffer(out)));
}
