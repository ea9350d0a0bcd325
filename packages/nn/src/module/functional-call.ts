/**
 * @file `functionalCall`: a module's forward as a function of its parameters and buffers.
 *
 * For the duration of the call the given tensors stand in the module's fields; afterwards the module is as it
 * was. So gradients, `vmap` and updates work on parameters as values. Modelled on `torch.func.functional_call`.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, isTensor, noGrad, stack } from '@tessera/tensor';
import { everyPath, fieldsOf, joinName, ownBuffers, ownParameters } from './module-tree.js';
import type { Module } from './module.js';
import { checkModule, checkList } from './check-child.js';

/** Options of `functionalCall`. */
export interface FunctionalCallOptions {
  /** Whether a tensor that stands under several names is replaced under all of them (default true). */
  readonly tieWeights?: boolean;
  /** Whether all parameters and buffers must be given (default false). */
  readonly strict?: boolean;
}

/** A field, or an item of an array, that holds a tensor of the module. */
interface Place {
  readonly owner: Partial<Record<string, unknown>>;
  readonly key: string;
  readonly tensor: Tensor;
}

/** Places of all parameters and buffers by name, every path to them. */
function placesOf(module: Module): Map<string, Place> {
  const places = new Map<string, Place>();
  everyPath(module, (prefix, part) => {
    for (const [name, tensor] of [...ownParameters(part), ...ownBuffers(part)]) {
      const [field, item]: readonly (string | undefined)[] = name.split('.');
      const place: Omit<Place, 'tensor'> =
        item === undefined
          ? { owner: fieldsOf(part), key: field! }
          : { owner: Reflect.get(part, field!), key: item };
      places.set(joinName(prefix, name), { ...place, tensor });
    }
  });
  return places;
}

function mismatch(module: Module, message: string): TesseraError {
  return new TesseraError(
    'state-dict-mismatch',
    `functionalCall of ${module.constructor.name}: ${message}`,
    { hints: ['Names are those of module.namedParameters() and namedBuffers().'] },
  );
}

/** What is to stand at which place. @throws state-dict-mismatch */
function replacements(
  module: Module,
  given: ReadonlyMap<string, Tensor>,
  { tieWeights = true, strict = false }: FunctionalCallOptions,
): [Place, Tensor][] {
  const places = placesOf(module);
  const unexpected = [...given.keys()].filter((name) => !places.has(name));
  if (unexpected.length > 0) throw mismatch(module, `Unexpected key(s): ${unexpected.join(', ')}.`);
  const tied = new Map<Tensor, Tensor>();
  for (const [name, tensor] of given) {
    const { tensor: own } = places.get(name)!;
    const other = tied.get(own);
    if (tieWeights && other !== undefined && other !== tensor)
      throw mismatch(module, `'${name}' is tied to another name that was given another tensor.`);
    tied.set(own, tensor);
  }
  const found: [Place, Tensor][] = [];
  const missing: string[] = [];
  for (const [name, place] of places) {
    const tensor = given.get(name) ?? (tieWeights ? tied.get(place.tensor) : undefined);
    if (tensor === undefined) missing.push(name);
    else found.push([place, tensor]);
  }
  if (strict && missing.length > 0)
    throw mismatch(module, `Missing key(s): ${missing.join(', ')}.`);
  return found;
}

/**
 * Calls a module with these tensors as its parameters and buffers; those not named keep their own.
 *
 * Updates of buffers during the call (running statistics) go to the tensors given for them.
 *
 * @param state tensors by name, or several such records, as `[parameters, buffers]`
 * @param args arguments of `forward`; one that is no array is the only argument
 * @throws state-dict-mismatch
 * @example functionalCall(model, { weight: w }, [x])
 * @see torch.func.functional_call
 */
export function functionalCall<M extends Module>(
  module: M,
  state: Readonly<Record<string, Tensor>> | readonly Readonly<Record<string, Tensor>>[],
  args: Parameters<M['forward']> | Parameters<M['forward']>[0],
  options: FunctionalCallOptions = {},
): ReturnType<M['forward']> {
  checkModule('functionalCall', module);
  checkOptionNames('functionalCall', options, { tieWeights: true, strict: true });
  const given = new Map<string, Tensor>();
  for (const part of Array.isArray(state) ? state : [state]) {
    for (const [name, tensor] of Object.entries(part)) {
      if (!isTensor(tensor)) throw mismatch(module, `'${name}' is no tensor.`);
      if (given.has(name)) throw mismatch(module, `'${name}' was given twice.`);
      given.set(name, tensor);
    }
  }
  const list = (Array.isArray(args) ? args : [args]) as Parameters<M['forward']>;
  const replaced = replacements(module, given, options);
  for (const [{ owner, key }, tensor] of replaced) owner[key] = tensor;
  try {
    return module.call(...list);
  } finally {
    for (const [{ owner, key, tensor }] of replaced) owner[key] = tensor;
  }
}

/**
 * Parameters and buffers of several modules of one architecture, each stacked along a new dimension 0: an
 * ensemble for `vmap` over `functionalCall`.
 *
 * @throws invalid-argument
 * @see torch.func.stack_module_state
 */
export function stackModuleState(
  models: readonly Module[],
): [parameters: Record<string, Tensor>, buffers: Record<string, Tensor>] {
  checkList('stackModuleState', models, '[a, b]');
  for (const model of models) checkModule('stackModuleState', model);
  const [first] = models;
  if (first === undefined || models.some(({ training }) => training !== first.training))
    throw new TesseraError(
      'invalid-argument',
      'stackModuleState: Expected at least one model, all in the same training or evaluation mode.',
      { hints: ['Call train() or eval() on all of them.'] },
    );
  const stacked = (of: (model: Module) => [string, Tensor][]): Record<string, Tensor> => {
    const all = models.map(of);
    return Object.fromEntries(
      all[0]!.map(([name, { requiresGrad }], i) => {
        const tensors = all.map((list) => list[i]![1]);
        const whole = noGrad(() => stack(tensors, 0));
        return [name, requiresGrad ? whole.requiresGrad_() : whole];
      }),
    );
  };
  return [stacked((model) => model.namedParameters()), stacked((model) => model.namedBuffers())];
}
