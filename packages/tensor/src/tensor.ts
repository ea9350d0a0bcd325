/**
 * @file `Tensor`: what people hold.
 *
 * Data lives in TensorBase; operators are functions in `ops/`, and every one whose first parameter is
 * the tensor is a method here too, derived from the modules that `tensor-methods.ts` lists (types by `MethodsOf`, code by
 * `METHODS`). Written by hand here: reading values, autograd, memory.
 */
import { activeMode, modes } from './dispatch/modes.js';
import { checkGradient } from './autograd/check-gradient.js';
import { runBackward } from './autograd/engine.js';
import { autogradMeta } from './autograd/autograd-meta.js';
import { checkAssignedGrad } from './autograd/assigned-grad.js';
import { gradMode } from './autograd/grad-mode.js';
import { type GradHook, type GradNode, type HookHandle, addHook } from './autograd/grad-node.js';
import {
  gradEdge,
  gradFnOf,
  requiresGrad,
  seemsToRequireGrad,
  withoutHistory,
} from './autograd/history.js';
import { retainedGradient } from './autograd/accumulate-grad.js';
import { addGradients } from './autograd/gradient-ops.js';
import { replaceGradient } from './autograd/own-gradient.js';
import { isInferenceTensor, refuseInferenceTensor } from './autograd/inference-mode.js';
import './autograd/autograd-grad-op.js';
import './autograd/record.js';
import type { DeviceType } from './device.js';
import { TesseraError, checkOptionNames, inspectsAs } from '@tessera/shared';
import { readNumbers } from './kernels/elements.js';
import { noData } from './no-data.js';
import { operatorOnTensor } from './operator-on-tensor.js';
import { show } from './memory/show.js';
import {
  type Item,
  type NestedNumbers,
  type TypedValues,
  readItem,
  readNested,
  readTyped,
} from './read-values.js';
import { formatTensor } from './format-tensor.js';
import { type MemoryFormat, isLaidOutAs } from './memory-format.js';
import { isContiguous, wrapDim } from './shape.js';
import { bindTensorClass } from './tensor-factory.js';
import { TensorBase } from './tensor-base.js';
import { METHODS, PROPERTIES, type TensorMethods } from './tensor-methods.js';
import { toDevice, toDtype } from './ops/arrange/copy.js';
import { type DType, isDType, isFloatingPoint, itemSize } from './dtype.js';

/** A tensor; see the file header. */
export class Tensor extends TensorBase {
  /** Size of one dimension; negative counts from the end. @throws invalid-dim, invalid-argument without one */
  size(dim: number): number {
    if (typeof dim !== 'number')
      throw new TesseraError(
        'invalid-argument',
        `size(): which dimension? It got ${String(dim)}.`,
        {
          hints: ['x.size(0) is one size; x.shape has all of them.'],
        },
      );
    return this.sizes[wrapDim(dim, this.ndim, 'size')]!;
  }

  /** Distance of neighbours along a dimension, in elements; of all dimensions without one. @throws invalid-dim */
  stride(): readonly number[];
  stride(dim: number): number;
  stride(dim?: number): number | readonly number[] {
    return dim === undefined ? this.strides : this.strides[wrapDim(dim, this.ndim, 'stride')]!;
  }

  /**
   * Operators of the language know nothing of tensors: `x * 2` and `loss < best` would silently be NaN and false.
   * In a template literal a tensor is its text.
   *
   * @throws operator-on-tensor
   */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    throw operatorOnTensor(hint);
  }

  /**
   * The values as nested arrays, for `JSON.stringify`.
   *
   * `structuredClone` and `postMessage` do not ask objects how to copy them: of a tensor, or of a module with
   * parameters, they throw a `DataCloneError` that says what to write. Copy with `clone()`, and send
   * `x.toTypedArray()` with `x.shape`, of which `fromTypedArray(data, shape)` makes a tensor on the other side.
   *
   * @throws data-async-only on devices other than `cpu`
   */
  toJSON(): NestedNumbers {
    if (this.device !== 'cpu')
      throw new TesseraError(
        'data-async-only',
        `JSON.stringify cannot wait for the values of a tensor on '${this.device}'.`,
        { hints: ['Read them first: JSON.stringify({ loss: await loss.item() }).'] },
      );
    return readNested(this);
  }

  /** Number of dimensions. */
  dim(): number {
    return this.ndim;
  }

  /** Bytes of all elements. */
  get nbytes(): number {
    return this.numel * itemSize(this.dtype);
  }

  /** Whether it holds floating-point numbers, and so may require gradients. */
  isFloatingPoint(): boolean {
    return isFloatingPoint(this.dtype);
  }

  /** Whether elements lie in row-major order without gaps, or in that of a channels-last format. */
  isContiguous(options?: { memoryFormat?: MemoryFormat }): boolean {
    return options === undefined
      ? isContiguous(this.sizes, this.strides)
      : isLaidOutAs(this, options);
  }

  /**
   * The only element as a number, 1 or 0 of a bool tensor. On `cpu` at once; on other devices `await` it (any other use of the
   * result throws `data-async-only`). A graph break inside a compiled function.
   *
   * @throws invalid-argument if there is not exactly one element
   */
  item(): Item {
    return readItem(this);
  }

  /** The elements as nested arrays; awaitable on devices other than `cpu`, as `item`. */
  toArray(): NestedNumbers {
    return readNested(this);
  }

  /** The elements in row-major order as a typed array of the dtype (16-bit floats as Float32Array). */
  toTypedArray(): TypedValues {
    return readTyped(this);
  }

  /** Converts dtype or moves device; itself if nothing changes. @throws invalid-argument, device-unavailable */
  to(target: DType | DeviceType): Tensor;
  /** Moves to a device as a dtype. @throws invalid-argument, device-unavailable */
  to(device: DeviceType, dtype?: DType): Tensor;
  to(target: DType | DeviceType, dtype?: DType): Tensor {
    const isType = isDType(target);
    if (typeof target !== 'string' || (dtype !== undefined && (isType || !isDType(dtype))))
      throw new TesseraError(
        'invalid-argument',
        'to(): a dtype or a device is expected, by name.',
        {
          hints: ["Write x.to('float16'), or x.to('wgpu', 'float16') for both."],
        },
      );
    if (isType) return toDtype(this, target);
    return toDevice(dtype === undefined ? this : toDtype(this, dtype), target);
  }

  /** Whether any element is NaN. Reads the values (cpu). */
  hasNaN(): boolean {
    return readNumbers(this).some((value) => Number.isNaN(value));
  }

  // ---- autograd

  /** Whether gradients flow into this tensor. */
  get requiresGrad(): boolean {
    return seemsToRequireGrad(this);
  }

  set requiresGrad(value: boolean) {
    this.requiresGrad_(value);
  }

  /** Sets `requiresGrad` of a leaf. @throws dtype-unsupported, invalid-argument */
  requiresGrad_(value = true): this {
    if (value && !isFloatingPoint(this.dtype)) {
      throw new TesseraError(
        'dtype-unsupported',
        `only Tensors of floating point dtype can require gradients, not ${this.dtype}`,
        { hints: ["Convert first: x.to('float32')."] },
      );
    }
    if (!value && !this.isLeaf) {
      throw new TesseraError(
        'invalid-argument',
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require differentiation use x.detach().",
        { hints: ['Use detach().'] },
      );
    }
    if (value && isInferenceTensor(this) && !gradMode.inference)
      refuseInferenceTensor(
        'Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.',
      );
    if (value !== this.requiresGradFlag) {
      if (activeMode([this])?.onSetRequiresGrad?.(this, value) === true) return this;
      // What suspended calls have recorded on it was to see it as it is.
      modes.suspended?.onAccess(this.storage, true);
    }
    // Its own value would come with the flag that it was recorded with.
    if (this.isLazy) void this.storage;
    this.requiresGradFlag = value;
    this.guardSpec = null;
    return this;
  }

  /** Whether the tensor was not made by a recorded op. */
  get isLeaf(): boolean {
    const mode = activeMode([this]);
    if (this.isLazy && mode?.isLeafMadeInside?.(this) === true) return true;
    return gradFnOf(this) === null && mode?.givesGradients?.(this) !== true;
  }

  /** The backward node that made this tensor, or null for leaves. */
  get gradFn(): GradNode | null {
    if (!this.isLazy) activeMode([this])?.onAccess?.(this.storage, false);
    return gradFnOf(this);
  }

  /** The accumulated gradient, or null. */
  get grad(): Tensor | null {
    const meta = this.autograd;
    if (meta === null) return null;
    // Whoever was given it may hold it.
    meta.ownGrad = null;
    return meta.grad;
  }

  /** @throws shape-mismatch, dtype-mismatch, device-mismatch */
  set grad(value: Tensor | null) {
    if (value !== null) checkAssignedGrad(this, value);
    if (value !== null || this.autograd !== null) replaceGradient(this, value);
  }

  /** Adds to `grad` of a tensor that is no leaf; used by the engine. */
  accumulateGrad(grad: Tensor): void {
    const meta = autogradMeta(this);
    meta.grad = meta.grad === null ? retainedGradient(grad) : addGradients(meta.grad, grad, false);
    show(meta.grad);
  }

  /**
   * Accumulates gradients of this tensor into the `grad` of the leaves it came from.
   *
   * @param gradient gradient of this tensor; may be left out for a scalar
   * @throws grad-non-scalar, no-grad-graph, backward-twice, inplace-version, invalid-argument
   */
  backward(
    gradient: Tensor | null = null,
    options: { retainGraph?: boolean; createGraph?: boolean; inputs?: readonly Tensor[] } = {},
  ): void {
    checkGradient(gradient, 'backward()');
    checkOptionNames('backward', options, { retainGraph: 1, createGraph: 1, inputs: 1 });
    const createGraph = options.createGraph ?? false;
    const retainGraph = options.retainGraph ?? createGraph;
    const inputs = options.inputs ?? null;
    if (
      activeMode([this])?.onBackward({
        tensors: [this],
        gradTensors: [gradient],
        retainGraph,
        createGraph,
        inputs,
      }) === true
    )
      return;
    runBackward([this], [gradient], {
      retainGraph,
      createGraph,
      inputs,
      accumulate: true,
      allowUnused: true,
    });
  }

  /** Whether this is a non-leaf that keeps its gradient in `grad`. */
  get retainsGrad(): boolean {
    return this.autograd?.retainsGrad ?? false;
  }

  /** Whether the tensor was made in inference mode. */
  isInference(): boolean {
    return isInferenceTensor(this);
  }

  /** Keeps the gradient of a non-leaf in `grad`. @throws no-grad-graph */
  retainGrad(): void {
    this.beforeWatching();
    const fn = gradFnOf(this);
    if (!requiresGrad(this))
      throw withoutHistory("can't retain_grad on Tensor that has requires_grad=False");
    if (fn === null) return;
    autogradMeta(this).retainsGrad = true;
    (fn.retained ??= new Map()).set(this.autograd!.outputNr, this);
  }

  /**
   * Calls `hook` with the gradient of this tensor, of its shape, in every backward; a returned tensor replaces it.
   * Returns a remover.
   *
   * @throws no-grad-graph without `requiresGrad`
   */
  registerHook(hook: GradHook): HookHandle {
    this.beforeWatching();
    const edge = gradEdge(this);
    if (edge === null) {
      throw new TesseraError(
        'no-grad-graph',
        "cannot register a hook on a tensor that doesn't require gradient",
        { hints: ['Call requiresGrad_() first.'] },
      );
    }
    return edge.node.addPreHook(edge.index, hook);
  }

  /** A tracer gives the tensor the history that it has by now. */
  private beforeWatching(): void {
    const mode = activeMode([this]);
    mode?.onWatch?.([this]);
    if (!this.isLazy) mode?.onSetHook?.(this);
  }

  /** Calls `hook` with this leaf after a backward has added to its `grad`. @throws no-grad-graph, invalid-argument */
  registerPostAccumulateGradHook(hook: (leaf: Tensor) => void): HookHandle {
    this.beforeWatching();
    if (!requiresGrad(this)) {
      throw new TesseraError(
        'no-grad-graph',
        "cannot register a hook on a tensor that doesn't require gradient",
        { hints: ['Call requiresGrad_() first.'] },
      );
    }
    if (gradFnOf(this) !== null) {
      throw new TesseraError(
        'invalid-argument',
        'post accumulate grad hooks cannot be registered on non-leaf tensors',
        { hints: ['Use registerHook() there.'] },
      );
    }
    return addHook((autogradMeta(this).postAccumulateHooks ??= []), hook);
  }

  // ---- memory

  /** Releases the memory now, for every tensor that shares it. Using them afterwards throws use-after-dispose. */
  dispose(): void {
    if (this.storageOrNull !== null) this.storageOrNull.release();
  }

  /** `dispose()` at the end of a scope: `using x = …`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Raw byte address of element 0 in the CPU heap. @throws fake-data-access, use-after-dispose */
  dataPtr(): number {
    this.storage.assertReadable('dataPtr()', true);
    return (
      this.storage.ptr + this.storageOffset * (this.storage.nbytes === 0 ? 0 : itemSize(this.dtype))
    );
  }

  /** `tensor([[1., 2.]])`, as PyTorch prints. */
  override toString(): string {
    return formatTensor(this);
  }
}

Object.defineProperty(Tensor.prototype, 'data', { get: noData, set: noData });

inspectsAs(Tensor, formatTensor);

/** Operator methods; see `tensor-methods.ts`. */
export interface Tensor extends TensorMethods {}

bindTensorClass(Tensor);
for (const [name, fn] of Object.entries(METHODS)) {
  // Some are written above.
  if (name in Tensor.prototype) continue;
  Object.defineProperty(Tensor.prototype, name, {
    configurable: true,
    ...(PROPERTIES.has(name)
      ? {
          get(this: Tensor): unknown {
            return fn(this);
          },
        }
      : {
          writable: true,
          value(this: Tensor, ...args: unknown[]): unknown {
            return fn(this, ...args);
          },
        }),
  });
}
