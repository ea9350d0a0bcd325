/**
 * @file Parametrizations: a tensor of a module computed from others whenever it is read.
 *
 * The parameter moves to `module.parametrizations.<name>.original`, and the field becomes one that computes. State
 * dicts have PyTorch's names. Modelled on `torch.nn.utils.parametrize`.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, isTensor, noGrad } from '@tessera/tensor';
import { formatSizes, sameNumbers } from '@tessera/tensor/internal';
import { fieldsOf } from '../module/module-tree.js';
import { Module } from '../module/module.js';
import { ModuleDict } from '../modules/module-dict.js';
import { Parameter } from '../parameter.js';
import { computed, forget } from './cached.js';
import { checkModule } from '../module/check-child.js';

/**
 * A module that computes a tensor from one or several others. With a `rightInverse` it says from which it would
 * compute a given tensor: that is what it starts from, and how assignments are undone.
 */
export interface Parametrization extends Module {
  forward(...originals: Tensor[]): Tensor;
  rightInverse?(value: Tensor): Tensor | readonly Tensor[];
}

/** The parametrizations of one tensor, in the order in which they apply. */
export class ParametrizationList extends Module {
  /** The parametrizations, in order. */
  [index: number]: Parametrization;
  /** What the first one computes from, if it is several tensors. */
  [name: `original${number}`]: Tensor;
  /** What the first one computes from, if it is one tensor. */
  declare original?: Tensor;

  /** Names of the tensors that the first one computes from. */
  readonly _originals: readonly ('original' | `original${number}`)[];
  private _count = 0;

  constructor(first: Parametrization, original: Tensor) {
    super();
    const inverse = first.rightInverse?.bind(first);
    const start = inverse === undefined ? original : noGrad(() => inverse(original));
    if (isTensor(start)) {
      this._originals = ['original'];
      if (start !== original && !sameNumbers(start.sizes, original.sizes))
        this.original = new Parameter(start.clone(), { requiresGrad: original.requiresGrad });
      else {
        if (start !== original) noGrad(() => original.copy_(start));
        this.original = original;
      }
    } else {
      this._originals = start.map((_, i) => `original${i}` as const);
      start.forEach((tensor, i) => {
        this[`original${i}`] = new Parameter(tensor.detach().clone(), {
          requiresGrad: original.requiresGrad,
        });
      });
    }
    this.append(first);
  }

  /** Adds one that applies after the others. */
  append(parametrization: Parametrization): void {
    this[this._count++] = parametrization;
  }

  /** Number of parametrizations. */
  get length(): number {
    return this._count;
  }

  /** The one at a place. */
  at(index: number): Parametrization {
    return this[index]!;
  }

  /** The tensors that are computed from. */
  originals(): Tensor[] {
    return this._originals.map((name) => this[name]!);
  }

  override forward(): Tensor {
    let value = this.at(0).call(...this.originals());
    for (let i = 1; i < this._count; i++) value = this.at(i).call(value);
    return value;
  }

  /** Writes the tensors from which `value` would be computed. @throws invalid-argument */
  assign(value: Tensor): void {
    noGrad(() => {
      let goal: Tensor | readonly Tensor[] = value;
      for (let i = this._count - 1; i >= 0; i--) {
        const step = this.at(i);
        if (step.rightInverse === undefined)
          throw new TesseraError(
            'invalid-argument',
            `${step.constructor.name} has no rightInverse, so the parametrized tensor cannot be assigned.`,
            { hints: ['Write parametrizations.<name>.original, or define rightInverse(value).'] },
          );
        goal = step.rightInverse(goal as Tensor);
      }
      const goals = isTensor(goal) ? [goal] : goal;
      this.originals().forEach((original, i) => original.copy_(goals[i]!));
    });
  }
}

interface Parametrized extends Module {
  parametrizations?: ModuleDict<ParametrizationList>;
}

function invalid(message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** Whether a module, or one tensor of it, is parametrized. @see torch.nn.utils.parametrize.is_parametrized */
export function isParametrized(module: Module, tensorName: string | null = null): boolean {
  checkModule('isParametrized', module);
  const { parametrizations }: Parametrized = module;
  if (parametrizations === undefined) return false;
  return tensorName === null ? parametrizations.size > 0 : parametrizations.has(tensorName);
}

/** Options of `registerParametrization`. */
export interface RegisterParametrizationOptions {
  /** Whether shape and dtype may change, which is not checked then (default false). */
  readonly unsafe?: boolean;
}

/** @throws invalid-argument if the computed tensor is of another shape or dtype */
function checkResult(value: Tensor, before: Tensor, name: string): void {
  if (value.dtype === before.dtype && sameNumbers(value.sizes, before.sizes)) return;
  throw invalid(
    `Registering a parametrization may not change the shape or dtype of ${name}: from ${before.dtype} ${formatSizes(before.sizes)} to ${value.dtype} ${formatSizes(value.sizes)}.`,
    'Pass unsafe: true if this is wanted.',
  );
}

/**
 * Makes `module[tensorName]` what `parametrization` computes from it; several apply one after another.
 *
 * @returns the module
 * @throws invalid-argument
 * @example registerParametrization(linear, 'weight', new Symmetric())
 * @see torch.nn.utils.parametrize.register_parametrization
 */
export function registerParametrization<M extends Module>(
  module: M,
  tensorName: string,
  parametrization: Parametrization,
  options: RegisterParametrizationOptions = {},
): M {
  checkModule('registerParametrization', module);
  checkOptionNames('registerParametrization', options, { unsafe: true });
  const holder: Parametrized = module;
  const unsafe = options.unsafe ?? false;
  if (isParametrized(module, tensorName)) {
    const list = holder.parametrizations!.get(tensorName);
    const before = noGrad(() => list.call());
    if (!unsafe)
      checkResult(
        noGrad(() => parametrization.call(before)),
        before,
        tensorName,
      );
    list.append(parametrization);
    forget(list);
    return module;
  }
  const original = fieldsOf(module)[tensorName];
  if (!isTensor(original))
    throw invalid(
      `Module ${module.constructor.name} does not have a parameter or buffer '${tensorName}'.`,
      `Name one of: ${[...module.namedParameters({ recurse: false }), ...module.namedBuffers({ recurse: false })].map(([name]) => name).join(', ')}.`,
    );
  const list = new ParametrizationList(parametrization, original);
  if (!unsafe)
    checkResult(
      noGrad(() => list.call()),
      original,
      tensorName,
    );
  holder.parametrizations ??= new ModuleDict<ParametrizationList>();
  holder.parametrizations.set(tensorName, list);
  Object.defineProperty(module, tensorName, {
    configurable: true,
    // Computed, so no parameter of its own.
    enumerable: false,
    // Of the module that has the field: a copy has a list of its own.
    get(this: Parametrized): Tensor {
      return computed(this.parametrizations!.get(tensorName));
    },
    set(this: Parametrized, value: Tensor) {
      const own = this.parametrizations!.get(tensorName);
      forget(own);
      own.assign(value);
    },
  });
  return module;
}

/** Options of `removeParametrizations`. */
export interface RemoveParametrizationsOptions {
  /** Whether the tensor keeps its computed value, or becomes the original again (default true). */
  readonly leaveParametrized?: boolean;
}

/** Makes a parametrized tensor a parameter again. @throws invalid-argument @see torch.nn.utils.parametrize.remove_parametrizations */
export function removeParametrizations<M extends Module>(
  module: M,
  tensorName: string,
  options: RemoveParametrizationsOptions = {},
): M {
  checkOptionNames('removeParametrizations', options, { leaveParametrized: true });
  if (!isParametrized(module, tensorName))
    throw invalid(
      `Module ${module.constructor.name} does not have a parametrization on ${tensorName}.`,
      'Ask isParametrized(module, name) first.',
    );
  const holder: Parametrized = module;
  const list = holder.parametrizations!.get(tensorName);
  const leave = options.leaveParametrized ?? true;
  const originals = list.originals();
  const [original] = originals;
  if (!leave && originals.length > 1)
    throw invalid(
      'A tensor that is computed from several others has no original to go back to.',
      'Leave leaveParametrized out.',
    );
  const value = leave ? noGrad(() => list.call()) : original;
  const same = originals.length === 1 && sameNumbers(original.sizes, value.sizes);
  // The parameter stays the same object, so an optimizer goes on with it.
  if (same && leave) noGrad(() => original.copy_(value));
  const result = same
    ? original
    : new Parameter(value.clone(), { requiresGrad: original.requiresGrad });
  Object.defineProperty(module, tensorName, {
    configurable: true,
    enumerable: true,
    writable: true,
    value: result,
  });
  Reflect.deleteProperty(holder.parametrizations!, tensorName);
  if (holder.parametrizations!.size === 0) delete holder.parametrizations;
  return module;
}
