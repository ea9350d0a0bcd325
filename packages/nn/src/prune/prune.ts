/**
 * @file Pruning: a parameter becomes `<name>_orig`, a buffer `<name>_mask` beside it, and the field their product.
 *
 * The product is computed whenever the field is read, so that it is never older than the parameter. Masks are computed
 * by reading values, on the CPU; pruned modules may move and compile afterwards. Modelled on `torch.nn.utils.prune`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, cat, isTensor, noGrad, onesLike } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { fieldsOf } from '../module/module-tree.js';
import type { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import {
  type Amount,
  CustomFromMask,
  Identity,
  L1Unstructured,
  LnStructured,
  type LnStructuredOptions,
  type PruningMethod,
  RandomStructured,
  RandomUnstructured,
  type StructuredOptions,
  combinedMask,
} from './pruning-method.js';
import { checkModule } from '../module/check-child.js';

function invalid(message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** The parameter and the mask of what is pruned. */
function partsOf(
  module: Module,
  name: string,
): { readonly original: Parameter; readonly mask: Tensor } | null {
  checkModule('prune', module);
  const fields = fieldsOf(module);
  const [original, mask] = [fields[`${name}_orig`], fields[`${name}_mask`]];
  return original instanceof Parameter && isTensor(mask) ? { original, mask } : null;
}

/** @throws invalid-argument */
function parameterOf(module: Module, name: string): Parameter {
  const value = fieldsOf(module)[name];
  if (value instanceof Parameter) return value;
  const names = module.namedParameters({ recurse: false }).map(([each]) => each);
  throw invalid(
    `Module ${module.constructor.name} does not have a parameter '${name}'.`,
    `Name one of: ${names.join(', ')}.`,
  );
}

/** Options of methods that go by scores. */
export interface ScoreOptions {
  /** What elements matter by, in place of their values; of the parameter's shape. */
  readonly importanceScores?: Tensor;
}

/**
 * Prunes a parameter by a method, on top of what is pruned already.
 *
 * @returns the module
 * @throws invalid-argument, shape-mismatch
 * @see torch.nn.utils.prune.BasePruningMethod.apply
 */
export function apply<M extends Module>(
  module: M,
  name: string,
  method: PruningMethod,
  options: ScoreOptions = {},
): M {
  const importanceScores = options?.importanceScores;
  const parts = partsOf(module, name);
  const fields = fieldsOf(module);
  const original = parts?.original ?? parameterOf(module, name);
  if (
    importanceScores !== undefined &&
    formatSizes(importanceScores.sizes) !== formatSizes(original.sizes)
  )
    throw new TesseraError(
      'shape-mismatch',
      `importance_scores should have the same shape as parameter ${name} of ${String(module)}, got ${formatSizes(importanceScores.sizes)} vs ${formatSizes(original.sizes)}`,
      { hints: [`Give scores of shape ${formatSizes(original.sizes)}.`] },
    );
  noGrad(() => {
    const before = parts?.mask ?? onesLike(original);
    const scores = importanceScores ?? (parts === null ? original : original.mul(before));
    const mask = combinedMask(method, scores, before).to(original.dtype).detach();
    if (parts === null) {
      delete fields[name];
      fields[`${name}_orig`] = original;
    }
    module.registerBuffer(`${name}_mask`, mask);
  });
  if (parts === null)
    Object.defineProperty(module, name, {
      configurable: true,
      // Computed, so no parameter of its own.
      enumerable: false,
      get(this: Module): Tensor {
        const { original: value, mask } = partsOf(this, name)!;
        return value.mul(mask);
      },
    });
  return module;
}

/** Masks a parameter without pruning any of it. @throws invalid-argument @see torch.nn.utils.prune.identity */
export function identity<M extends Module>(module: M, name: string): M {
  return apply(module, name, new Identity());
}

/** Prunes any elements. @throws invalid-argument @see torch.nn.utils.prune.random_unstructured */
export function randomUnstructured<M extends Module>(module: M, name: string, amount: Amount): M {
  return apply(module, name, new RandomUnstructured({ amount }));
}

/** Prunes the smallest elements. @throws invalid-argument, shape-mismatch @see torch.nn.utils.prune.l1_unstructured */
export function l1Unstructured<M extends Module>(
  module: M,
  name: string,
  amount: Amount,
  options?: ScoreOptions,
): M {
  return apply(module, name, new L1Unstructured({ amount }), options);
}

/** Prunes any channels of a dimension. @throws invalid-argument, invalid-dim @see torch.nn.utils.prune.random_structured */
export function randomStructured<M extends Module>(
  module: M,
  name: string,
  options: StructuredOptions,
): M {
  return apply(module, name, new RandomStructured(options));
}

/** Prunes the channels with the smallest n-norm. @throws invalid-argument, invalid-dim @see torch.nn.utils.prune.ln_structured */
export function lnStructured<M extends Module>(
  module: M,
  name: string,
  options: LnStructuredOptions & ScoreOptions,
): M {
  return apply(module, name, new LnStructured(options), options);
}

/** Prunes what a mask says. @throws invalid-argument, shape-mismatch @see torch.nn.utils.prune.custom_from_mask */
export function customFromMask<M extends Module>(module: M, name: string, mask: Tensor): M {
  return apply(module, name, new CustomFromMask({ mask }));
}

/**
 * Prunes elements of several parameters together, as if they were one.
 *
 * @throws invalid-argument
 * @example globalUnstructured([[fc1, 'weight'], [fc2, 'weight']], L1Unstructured, { amount: 0.2 })
 * @see torch.nn.utils.prune.global_unstructured
 */
export function globalUnstructured<O>(
  parameters: readonly (readonly [module: Module, name: string])[],
  Method: new (options: O) => PruningMethod,
  options: O,
): void {
  if (!Array.isArray(parameters) || typeof Method !== 'function')
    throw new TesseraError(
      'invalid-argument',
      'globalUnstructured takes pairs of a module and a name, and a method.',
      {
        hints: ["Write globalUnstructured([[layer, 'weight']], L1Unstructured, { amount: 0.2 })."],
      },
    );
  const method = new Method(options);
  if (method.type !== 'unstructured')
    throw invalid(
      `Only "unstructured" PRUNING_TYPE supported for the \`pruning_method\`. Found method ${Method.name} of type ${method.type}`,
      'Use L1Unstructured or RandomUnstructured.',
    );
  noGrad(() => {
    const found = parameters.map(([module, name]) => {
      const { original, mask } = partsOf(module, name) ?? {
        original: parameterOf(module, name),
        mask: null,
      };
      const before = mask ?? onesLike(original);
      return { module, name, before, value: original.mul(before) };
    });
    const joined = (tensors: readonly Tensor[]): Tensor =>
      cat(tensors.map((tensor) => tensor.reshape([-1])));
    const mask = combinedMask(
      method,
      joined(found.map(({ value }) => value)),
      joined(found.map(({ before }) => before)),
    );
    let start = 0;
    for (const { module, name, value } of found) {
      customFromMask(module, name, mask.narrow(0, start, value.numel).view(value.sizes));
      start += value.numel;
    }
  });
}

/** Makes pruning permanent: the parameter holds the zeros, and is called by its name again. @throws invalid-argument @see torch.nn.utils.prune.remove */
export function remove<M extends Module>(module: M, name: string): M {
  const parts = partsOf(module, name);
  if (parts === null)
    throw invalid(
      `Parameter '${name}' of module ${String(module)} has to be pruned before pruning can be removed`,
      'Ask isPruned(module) first.',
    );
  const { original, mask } = parts;
  // The parameter stays the same object, so an optimizer goes on with it.
  noGrad(() => original.mul_(mask));
  const fields = fieldsOf(module);
  delete fields[`${name}_orig`];
  module.registerBuffer(`${name}_mask`, null);
  delete fields[`${name}_mask`];
  Object.defineProperty(module, name, {
    configurable: true,
    enumerable: true,
    writable: true,
    value: original,
  });
  return module;
}

/** Whether a parameter of a module, or of one below it, is pruned. @see torch.nn.utils.prune.is_pruned */
export function isPruned(module: Module): boolean {
  checkModule('isPruned', module);
  return module
    .modules()
    .some((each) =>
      each
        .namedParameters({ recurse: false })
        .some(([name]) => name.endsWith('_orig') && partsOf(each, name.slice(0, -5)) !== null),
    );
}
