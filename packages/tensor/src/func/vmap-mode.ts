/**
 * @file `VmapMode`: sees every operator inside `vmap`, and runs it for all examples.
 *
 * A pre-dispatch mode that stands in front of the one that is active outside (a capture, an outer `vmap`, or
 * none). Composite operators on batched tensors are taken apart, primitives are batched by a rule; what concerns
 * no batched tensor goes on outside as it is. Modelled on functorch's BatchedTensor and its interpreter stack.
 */
import { TesseraError } from '@tessera/shared';
import { requiresGrad, seemsToRequireGrad } from '../autograd/history.js';
import { checkComposite } from '../dispatch/check-arguments.js';
import { callOp } from '../dispatch/dispatcher.js';
import { checkInPlace } from '../dispatch/check-in-place.js';
import { type BackwardCall, type PreDispatchMode, withPreDispatchMode } from '../dispatch/modes.js';
import type { Storage } from '../memory/storage.js';
import { type OpOverload, getOp } from '../op/op-overload.js';
import { stack } from '../ops/arrange/join.js';
import { zeros } from '../ops/factory/factory.js';
import { narrow, select } from '../ops/view/slice.js';
import type { RegionInputs } from '../protocols/trusted-region.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { BatchCall, mapResult } from './batch-call.js';
import { compositeRule, formulaOf, ruleOf } from './batch-rules.js';
import { batchedAt, makeBatched } from './batched-tensor.js';
import { type Randomness, checkRandomness, drawDifferent, drawSame } from './rules/random.js';

/** What cannot be done for all examples at once. */
function unsupported(what: string, hint: string): TesseraError {
  return new TesseraError('vmap-unsupported', `vmap: ${what}`, { hints: [hint] });
}

const OWN_BACKWARD = ['tessera::attach_function', 'tessera::custom_function'];

/** See the file header. */
export class VmapMode implements PreDispatchMode {
  readonly name = 'vmap';

  constructor(
    /** Number of examples. */
    readonly size: number,
    readonly randomness: Randomness,
    /** The mode that is active outside. */
    readonly outer: PreDispatchMode | null,
  ) {}

  /** See `PreDispatchMode`. */
  get isEager(): boolean {
    return this.outer === null || this.outer.isEager === true;
  }

  /** Runs `fn` as if outside. */
  below<R>(fn: () => R): R {
    return withPreDispatchMode(this.outer, fn);
  }

  /** A shared tensor as one that every example has for itself, at all levels from the outermost in. */
  spread(tensor: Tensor): Tensor {
    if (batchedAt(tensor, this) !== null) return tensor;
    return this.below(() => {
      const own = this.outer instanceof VmapMode ? this.outer.spread(tensor) : tensor;
      return makeBatched(own.expand([this.size, ...own.sizes]), 0, this);
    });
  }

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const call = new BatchCall(op, args, this.size, this);
    const batched = op.tensorArgs.some((i) => call.isBatched(args[i]));
    const random = op.hasTag('random');
    if (batched || op.qualifiedName === 'tessera::leaf') {
      const rule = compositeRule(op);
      if (rule !== undefined) return this.wrapped(() => rule(call));
    }
    if (OWN_BACKWARD.includes(op.qualifiedName))
      throw unsupported(
        'a Function with a backward of its own cannot be batched.',
        'Write it in differentiable operators, or call it outside of vmap.',
      );
    if (!batched && !random) return this.below(() => callOp(op, args));
    if (op.record.decompose !== undefined) {
      checkComposite(op, args);
      return op.record.decompose(op.bind(args));
    }
    if (op.record.layoutOf !== undefined)
      throw unsupported(
        `${op.schema.name} changes the layout of a tensor of all examples.`,
        'Use the form that returns a view: transpose, squeeze, unsqueeze, detach.',
      );
    if (op.record.inplaceOf !== undefined) return this.inPlace(op, args);
    return random ? this.draw(call, batched) : this.compute(call);
  }

  private compute(call: BatchCall): unknown {
    const { op } = call;
    if (op.hasTag('data-dependent') || op.hasTag('effect'))
      throw new TesseraError(
        'vmap-data-access',
        `vmap: ${op.schema.name} depends on the values of each example.`,
        { hints: ['Keep the shape and mask what is not wanted: where(condition, x, 0).'] },
      );
    const formula = formulaOf(op);
    if (formula !== undefined) return formula(call);
    return this.wrapped(() => ruleOf(op)(call));
  }

  /** @throws vmap-randomness */
  private draw(call: BatchCall, batched: boolean): unknown {
    checkRandomness(call.op, this.randomness);
    if (this.randomness === 'different') return this.wrapped(() => drawDifferent(call));
    if (!batched) return this.below(() => callOp(call.op, call.args));
    return this.wrapped(() => drawSame(call));
  }

  /** Computes the functional form and writes it. @throws vmap-inplace, shape-mismatch, vmap-randomness */
  private inPlace(op: OpOverload, args: readonly unknown[]): Tensor {
    const [self, ...rest] = args as [Tensor, ...unknown[]];
    const random = op.hasTag('random');
    if (random) checkRandomness(op, this.randomness);
    const target = batchedAt(self, this);
    if (target === null) {
      if (random && this.randomness === 'same') return this.below(() => callOp(op, args)) as Tensor;
      throw new TesseraError(
        'vmap-inplace',
        `vmap: ${op.schema.name}(self, *extra_args) is not possible because self is shared by all examples while other arguments differ between them.`,
        {
          hints: [`Use the out-of-place ${op.schema.name.replace(/_$/, '')}().`],
        },
      );
    }
    const functional = getOp(op.record.inplaceOf!);
    const value =
      functional.qualifiedName === 'aten::copy'
        ? (rest[0] as Tensor)
        : (this.handle(functional, args) as Tensor);
    if (functional.qualifiedName !== 'aten::copy') checkInPlace(op, self, value);
    const call = new BatchCall(op, [], this.size, this);
    this.below(() => call.values(self).copy_(call.aligned(value, self.ndim)));
    return self;
  }

  /** What a rule returns, as batched tensors. */
  private wrapped(rule: () => unknown): unknown {
    return this.below(() => mapResult(rule(), (tensor) => makeBatched(tensor, 0, this)));
  }

  eachExample(
    tensors: readonly (Tensor | null)[],
    fn: (own: readonly (Tensor | null)[]) => readonly (Tensor | null)[],
  ): readonly (Tensor | null)[] | null {
    if (!tensors.some((tensor) => batchedAt(tensor, this) !== null))
      return this.below(() => this.outer?.eachExample?.(tensors, fn) ?? null);
    return this.below(() => {
      // Of none, results have the shapes that an example of zeros gives.
      const rows = Array.from({ length: Math.max(this.size, 1) }, (_, i) =>
        fn(
          tensors.map((tensor) => {
            const batched = batchedAt(tensor, this);
            if (batched === null) return tensor;
            const { value, dim } = batched;
            if (this.size > 0) return select(value, dim, i);
            const sizes = value.sizes.filter((_size, at) => at !== dim);
            return zeros(sizes, { dtype: value.dtype, device: value.device });
          }),
        ),
      );
      return rows[0]!.map((first, at) => {
        if (first === null) return null;
        const all = stack(rows.map((row) => row[at]!));
        return makeBatched(narrow(all, 0, 0, this.size), 0, this);
      });
    });
  }

  // ---- events that are not operators

  onBackward(call: BackwardCall): boolean {
    if (call.tensors.some((tensor) => batchedAt(tensor, this) !== null))
      throw unsupported(
        'backward() on a tensor inside vmap.',
        'Use grad(fn) inside, or call backward() on the result outside.',
      );
    return this.outer?.onBackward(call) ?? false;
  }

  onGradMode(enabled: boolean): void {
    this.outer?.onGradMode(enabled);
  }

  onRegion<R>(
    _owner: object,
    _name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    return fn(inputs);
  }

  onSetGrad(tensor: Tensor, value: Tensor | null): void {
    if (batchedAt(tensor, this) !== null || batchedAt(value, this) !== null)
      throw unsupported('a gradient is assigned inside vmap.', 'Return the gradient instead.');
    this.outer?.onSetGrad(tensor, value);
  }

  onDrop(gradient: Tensor): void {
    this.outer?.onDrop?.(gradient);
  }

  onSetRequiresGrad(tensor: Tensor, value: boolean): boolean {
    if (batchedAt(tensor, this) !== null)
      throw unsupported(
        'requiresGrad of a tensor is set inside vmap.',
        'Use grad(fn), or set it outside of vmap.',
      );
    return this.outer?.onSetRequiresGrad?.(tensor, value) ?? false;
  }

  onSetHook(tensor: Tensor): void {
    this.outer?.onSetHook?.(tensor);
  }

  givesGradients(tensor: Tensor): boolean {
    const batched = batchedAt(tensor, this);
    if (batched === null) return this.outer?.givesGradients?.(tensor) ?? false;
    const { value } = batched;
    return requiresGrad(value) || this.below(() => seemsToRequireGrad(value));
  }

  onWatch(tensors: readonly Tensor[]): void {
    const shared = tensors.filter((tensor) => batchedAt(tensor, this) === null);
    if (shared.length > 0) this.outer?.onWatch?.(shared);
  }

  onAccess(storage: Storage, writes: boolean): void {
    this.outer?.onAccess?.(storage, writes);
  }
}

/** The values of a tensor that a function returned, with the batch at `dim`. */
export function valuesAt(mode: VmapMode, tensor: unknown, dim: number): Tensor {
  if (!isTensor(tensor))
    throw new TesseraError(
      'invalid-argument',
      `vmap: the function must only return Tensors, got type ${tensor === null ? 'null' : typeof tensor}.`,
      { hints: ['Return tensors, or arrays and records of tensors.'] },
    );
  const call = new BatchCall(getOp('aten::alias'), [tensor], mode.size, mode);
  const values = call.spread(tensor);
  const at = dim < 0 ? dim + values.ndim : dim;
  return at === 0 ? values : values.movedim(0, at);
}
