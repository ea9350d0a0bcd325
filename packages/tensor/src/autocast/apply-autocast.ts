/**
 * @file The autocast step of the dispatcher: casts an operator's inputs as its policy says.
 *
 * It runs before graph capture, not after it as in PyTorch: a capture records the casts as ops of the
 * program, so that a compiled function needs no guard on the scope (docs/adr/0014). For the same reason
 * composite operators without a policy are taken apart here, where the scope is known.
 */
import { TesseraError } from '@tessera/shared';
import { gradMode } from '../autograd/grad-mode.js';
import type { DeviceType } from '../device.js';
import { checkComposite } from '../dispatch/check-arguments.js';
import { callOp } from '../dispatch/dispatcher.js';
import { modes } from '../dispatch/modes.js';
import { type DType, isFloatingPoint } from '../dtype.js';
import { type OpOverload, getOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { isTensor } from '../tensor-factory.js';
import { type AutocastPolicy, autocastPolicy } from './autocast-policies.js';
import {
  type AutocastDType,
  type AutocastSettings,
  withAutocastSettings,
} from './autocast-state.js';

/** What `autocast()` sets: see `AutocastSettings`. */
export class AutocastScope implements AutocastSettings {
  /** @param casts of parameters made in this scope, so that a weight used twice is cast once; null: no cache */
  constructor(
    readonly dtypes: ReadonlyMap<DeviceType, AutocastDType>,
    readonly casts: Map<Tensor, Tensor> | null,
  ) {}

  afresh(): AutocastScope {
    return new AutocastScope(this.dtypes, this.casts === null ? null : new Map());
  }

  /** @throws dtype-unsupported for ops that float16 makes unsafe */
  call(op: OpOverload, args: readonly unknown[]): unknown {
    const device = deviceOf(args);
    const lower = device === null ? undefined : this.dtypes.get(device);
    const name = `${op.schema.namespace}::${op.schema.name}`;
    const policy = lower === undefined ? undefined : autocastPolicy(name, device!);
    if (policy === undefined) {
      const { decompose } = op.record;
      // Its own ops come back here one by one. One that reads values a tracer must see as a whole: it computes them first.
      if (decompose !== undefined && lower !== undefined && !op.hasTag('data-dependent')) {
        checkComposite(op, args);
        return decompose(op.bind(args));
      }
      return withAutocastSettings(null, () => callOp(op, args));
    }
    return withAutocastSettings(null, () =>
      callOp(op, castArguments(op, args, policy, lower!, this)),
    );
  }
}

function castArguments(
  op: OpOverload,
  args: readonly unknown[],
  policy: AutocastPolicy,
  lower: DType,
  scope: AutocastScope,
): readonly unknown[] {
  switch (policy) {
    case 'lower':
      return castAll(args, lower, scope);
    case 'float32':
      return castAll(args, 'float32', scope);
    case 'float32-result': {
      const at = op.argIndex.get('dtype');
      if (at === undefined) return castAll(args, 'float32', scope);
      const first = args[0];
      const narrow = isTensor(first) && isNarrow(first.dtype);
      if (!narrow || args[at] != null) return args;
      return args.map((arg, i) => (i === at ? 'float32' : arg));
    }
    case 'widest': {
      const wide = floatsIn(args).some((tensor) => tensor.dtype === 'float32');
      return castAll(args, wide ? 'float32' : lower, scope);
    }
    case 'refused':
      throw new TesseraError(
        'dtype-unsupported',
        `${op.schema.name} is unsafe in ${lower}: its gradient overflows or is lost.`,
        {
          hints: [
            'Use binaryCrossEntropyWithLogits on the scores instead of sigmoid and binaryCrossEntropy.',
          ],
        },
      );
  }
}

function isNarrow(dtype: DType): boolean {
  return dtype === 'float16' || dtype === 'bfloat16';
}

/** float64 is left alone, as are integers and bools. */
function isEligible(tensor: Tensor): boolean {
  return isFloatingPoint(tensor.dtype) && tensor.dtype !== 'float64';
}

function castAll(args: readonly unknown[], dtype: DType, scope: AutocastScope): readonly unknown[] {
  const cast = (arg: unknown): unknown => {
    if (isTensor(arg)) return isEligible(arg) ? castTensor(arg, dtype, scope) : arg;
    return Array.isArray(arg) && arg.some(isTensor) ? arg.map(cast) : arg;
  };
  return args.map(cast);
}

function castTensor(tensor: Tensor, dtype: DType, { casts }: AutocastScope): Tensor {
  if (tensor.dtype === dtype) return tensor;
  // Only what the scope can reuse is kept: parameters. A trace merges equal casts by itself.
  const keep =
    casts !== null &&
    modes.pre === null &&
    gradMode.enabled &&
    tensor.requiresGrad &&
    tensor.isLeaf &&
    isNarrow(dtype);
  const known = keep ? casts.get(tensor) : undefined;
  if (known !== undefined) return known;
  const result = callOp(getOp('aten::to.dtype'), [tensor, dtype, false, false, null]);
  if (keep) casts.set(tensor, result);
  return result;
}

function floatsIn(args: readonly unknown[]): Tensor[] {
  return args.flat().filter((arg): arg is Tensor => isTensor(arg) && isEligible(arg));
}

/** Device of the first tensor among the arguments. */
function deviceOf(args: readonly unknown[]): DeviceType | null {
  for (const arg of args) {
    if (isTensor(arg)) return arg.device;
    if (Array.isArray(arg)) {
      const first = arg.find(isTensor);
      if (first !== undefined) return first.device;
    }
  }
  return null;
}
