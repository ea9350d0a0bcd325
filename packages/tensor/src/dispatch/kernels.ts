/**
 * @file The last step of dispatch: views, meta rules for fakes, in-place ops, device kernels.
 */
import { TesseraError } from '@tessera/shared';
import { type DeviceKernel, type OpOverload, getOp } from '../op/op-overload.js';
import type { TensorMeta, ViewMeta } from '../op/op-record.js';
import {
  emptyFromMeta,
  fakeFromMeta,
  isFakeMode,
  isTensor,
  makeTensor,
} from '../tensor-factory.js';
import { runExactly } from '../kernels/integer-arithmetic.js';
import { GENERATOR_MEMORY } from '../rng/generator.js';
import type { MadeAs } from '../tensor-base.js';
import type { Tensor } from '../tensor.js';
import { beginWithoutHistory, requiresGrad } from '../autograd/history.js';
import { gradMode } from '../autograd/grad-mode.js';
import { checkInferenceWrite } from '../autograd/inference-mode.js';
import { checkArguments } from './check-arguments.js';
import { checkInPlace, checkOverlap } from './check-in-place.js';
import { sizeUnknown, unreadable } from './unreadable-now.js';
import { kernelProvider } from './kernel-provider.js';
import { type Resume, modes } from './modes.js';
import { updateLayout } from './layout-update.js';

/** Runs a primitive op: no autograd, no modes. @throws kernel-missing, shape-mismatch, … */
export function runKernel(op: OpOverload, args: readonly unknown[]): unknown {
  checkArguments(op, args);
  const custom = customKernel(op, args);
  if (custom !== undefined) {
    if (modes.suspended !== null) announceArguments(op, args, modes.suspended);
    return custom(...args);
  }
  if (op.record.view !== undefined) return runView(op, args);
  if (modes.suspended !== null) announceArguments(op, args, modes.suspended);
  if (op.record.inplaceOf !== undefined) return runInPlace(op, args);
  if (op.record.layoutOf !== undefined) return updateLayout(op, args);
  return unwrap(op, runFunctional(op, args, null));
}

/** Kernels access memory without asking: suspended traces must have done before what they recorded on it. */
function announceArguments(op: OpOverload, args: readonly unknown[], suspended: Resume): void {
  const announce = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(announce);
    else if (isTensor(value) && value.storage.state === 'real')
      suspended.onAccess(value.storage, op.isMutable);
  };
  for (const i of op.tensorArgs) announce(args[i]);
  if (op.hasTag('random') && !anyFake(op, args)) suspended.onAccess(GENERATOR_MEMORY, true);
}

function unwrap(op: OpOverload, outs: readonly Tensor[]): unknown {
  const returns = op.schema.returns;
  return returns.length === 1 && !returns[0]!.type.list ? outs[0] : outs;
}

function isList(
  value: TensorMeta | ViewMeta | readonly (TensorMeta | ViewMeta)[],
): value is readonly (TensorMeta | ViewMeta)[] {
  return Array.isArray(value);
}

/** Metas of the outputs of a functional op. */
export function outputMetas(op: OpOverload, args: readonly unknown[]): readonly TensorMeta[] {
  const rule = op.record.meta;
  if (rule === undefined) {
    throw new TesseraError(
      'fake-data-access',
      `Cannot access data pointer of Tensor (e.g. FakeTensor): ${op.qualifiedName} has no meta rule, so it cannot be traced.`,
      {
        hints: [
          `Register one: library('${op.schema.namespace}').impl('${op.schema.name}', 'meta', fn).`,
        ],
      },
    );
  }
  const metas = rule(op.bind(args));
  return isList(metas) ? metas : [metas];
}

/** The kernel that a user registered for this op on this device (or for FakeTensors). */
function customKernel(op: OpOverload, args: readonly unknown[]): DeviceKernel | undefined {
  if (op.deviceKernels.size === 0) return undefined;
  return op.deviceKernels.get(anyFake(op, args) ? 'meta' : deviceOf(op, args));
}

const NONE: readonly Tensor[] = [];

/** The arguments that an op modifies. */
export function writtenBy(op: OpOverload, args: readonly unknown[]): Tensor[] {
  return args
    .filter((_, i) => op.schema.args[i]?.alias?.isWrite === true)
    .flat()
    .filter(isTensor);
}

/** Whether the op must only compute metadata. */
function anyFake(op: OpOverload, args: readonly unknown[]): boolean {
  for (const i of op.tensorArgs) {
    const arg = args[i];
    if (isTensor(arg)) {
      if (arg.storage.state === 'fake') return true;
    } else if (Array.isArray(arg)) {
      for (const item of arg) if (isTensor(item) && item.storage.state === 'fake') return true;
    }
  }
  return isFakeMode();
}

/** Device of the first tensor argument, or of the `device` argument, or cpu. */
export function deviceOf(op: OpOverload, args: readonly unknown[]): string {
  for (const i of op.tensorArgs) {
    const arg = args[i];
    if (isTensor(arg)) return arg.device;
    if (Array.isArray(arg)) {
      const first = arg.find(isTensor);
      if (first !== undefined) return first.device;
    }
  }
  const at = op.argIndex.get('device');
  const device = at === undefined ? null : args[at];
  return typeof device === 'string' ? device : 'cpu';
}

function runView(op: OpOverload, args: readonly unknown[]): unknown {
  const self = args[0] as Tensor;
  const result = op.record.view!(op.bind(args));
  // A detached alias is no view to autograd: later updates of the base give it no history.
  const base = op.hasTag('non-differentiable') ? null : (self.base ?? self);
  if (!isList(result)) return makeView(self, base, self.madeAs, result);
  return result.map((view) => makeView(self, base, 'multiple', view));
}

function makeView(self: Tensor, base: Tensor | null, madeAs: MadeAs, view: ViewMeta): Tensor {
  const out = makeTensor(
    self.storage,
    self.dtype,
    self.device,
    view.sizes,
    view.strides,
    view.offset,
  );
  out.base = base;
  if (base !== null)
    out.madeAs = gradMode.enabled ? madeAs : gradMode.inference ? 'inference' : 'no_grad';
  // A base may take gradients later; of what must not be written it counts then whether it was written since.
  const counts = base?.requiresGradFlag === true || out.madeAs !== null;
  if (counts && (!gradMode.enabled || !requiresGrad(self))) beginWithoutHistory(out);
  return out;
}

/** Runs a functional op into fresh outputs, or into `into`. */
function runFunctional(
  op: OpOverload,
  args: readonly unknown[],
  into: readonly Tensor[] | null,
): readonly Tensor[] {
  if (anyFake(op, args)) return into ?? outputMetas(op, args).map(fakeFromMeta);
  const device = deviceOf(op, args);
  const provider = kernelProvider(device);
  if (op.record.produce !== undefined) {
    // The reference kernel reads CPU memory.
    if (device !== 'cpu') throw sizeUnknown(op, device) ?? missingKernel(op, device);
    assertAllReadable(op, args);
    const made =
      provider?.produce?.(op, args) ?? runExactly(op.record.produce, op.bind(args), null);
    return [made].flat();
  }
  if (op.record.meta === undefined) missingKernel(op, device);
  assertAllReadable(op, args);
  const outs = into ?? outputMetas(op, args).map(emptyFromMeta);
  const written = into === null && op.isMutable ? writtenBy(op, args) : NONE;
  for (const tensor of written) tensor.storage.keepContents();
  if (provider?.run(op, args, outs) !== true) {
    const elsewhere = outs.find((out) => out.device !== device);
    if (device !== 'cpu' && elsewhere !== undefined) throw unreadable(device, elsewhere.device);
    if (device !== 'cpu' || op.record.kernel === undefined) return missingKernel(op, device);
    runExactly(op.record.kernel, op.bind(args), outs);
  }
  for (const tensor of written) tensor.storage.version++;
  return outs;
}

function missingKernel(op: OpOverload, device: string): never {
  throw new TesseraError(
    'kernel-missing',
    `${op.qualifiedName} has no kernel on device '${device}'.`,
    {
      context: { op: op.qualifiedName, device },
      hints:
        device === 'cpu'
          ? ["Register one with library().impl(name, 'cpu', fn)."]
          : [
              'Copy the tensors to the CPU for this op: await download(x).',
              `Register one with library().impl(name, '${device}', fn).`,
            ],
    },
  );
}

function assertAllReadable(op: OpOverload, args: readonly unknown[]): void {
  for (const i of op.tensorArgs) {
    const arg = args[i];
    if (isTensor(arg)) {
      if (arg.storage.state !== 'real') arg.storage.assertReadable(op.qualifiedName);
    } else if (Array.isArray(arg)) {
      for (const item of arg) if (isTensor(item)) item.storage.assertReadable(op.qualifiedName);
    }
  }
}

/** `add_` and its kin: the functional op computed into `self`. */
function runInPlace(op: OpOverload, args: readonly unknown[]): Tensor {
  const functional = getOp(op.record.inplaceOf!);
  const self = args[0] as Tensor;
  const metas = outputMetas(functional, args);
  const meta = metas[0]!;
  checkInferenceWrite(self);
  checkInPlace(op, self, meta);
  const overlaps = checkOverlap(functional, self, args);
  if (!anyFake(op, args)) {
    self.storage.keepContents();
    const direct = meta.dtype === self.dtype && functional.hasTag('pointwise') && !overlaps;
    if (direct) runFunctional(functional, args, [self]);
    else {
      const [value] = runFunctional(functional, args, null);
      runFunctional(getOp('aten::copy'), [self, value, false], [self]);
    }
  }
  self.storage.version++;
  return self;
}
