/**
 * @file State dicts of optimizers, in PyTorch's form: state by parameter number, and groups that list
 * parameter numbers. State has PyTorch's names (`exp_avg`), options have ours (`weightDecay`).
 */
import { TesseraError, nearestNames } from '@tessera/shared';
import { type Tensor, isTensor, keep, noGrad } from '@tessera/tensor';
import { formatSizes, itemAtOnce, sameNumbers } from '@tessera/tensor/internal';
import type { ParamState } from './bucket.js';
import type { CommonOptions, ParamGroup } from './param-group.js';
import { readStateDict } from './read-state-dict.js';

/** See the file header. */
export interface OptimizerStateDict {
  /** State per parameter number: tensors by PyTorch's names, and `step` as a number (a tensor is accepted). */
  readonly state: Readonly<Record<number, Readonly<Record<string, Tensor | number>>>>;
  /** Options of each group, with `params` as parameter numbers. */
  readonly paramGroups: readonly (Readonly<Record<string, unknown>> & {
    readonly params: readonly number[];
  })[];
}

/** The state dict of groups and their state. */
export function exportState<O extends CommonOptions>(
  groups: readonly ParamGroup<O>[],
  states: ReadonlyMap<Tensor, ParamState>,
): OptimizerStateDict {
  const state: Record<number, Record<string, Tensor | number>> = {};
  let next = 0;
  const paramGroups = groups.map((group) => {
    const { params, ...options } = group;
    return {
      ...options,
      params: params.map((param) => {
        const own = states.get(param);
        if (own !== undefined) state[next] = { step: own.step, ...own.carried, ...own.tensors };
        return next++;
      }),
    };
  });
  return { state, paramGroups };
}

function mismatch(
  message: string,
  hint = 'Make the optimizer with the same groups of parameters as the one that was saved.',
): never {
  throw new TesseraError('state-dict-mismatch', message, { hints: [hint] });
}

/**
 * Names of the program's own are taken as they are; where a group has one and lacks an option, it is of another optimizer.
 *
 * @throws state-dict-mismatch unless the groups of a state dict are those of the optimizer, with no other options
 */
export function checkGroups(
  saved: OptimizerStateDict['paramGroups'],
  groups: readonly { readonly params: readonly Tensor[] }[],
  options: object,
): void {
  if (saved.length !== groups.length)
    mismatch(
      `loaded state dict has a different number of parameter groups: ${saved.length}, this optimizer has ${groups.length}`,
    );
  const names = Object.keys(options);
  groups.forEach((group, i) => {
    const given = saved[i]!;
    const isOther = !names.every((name) => name in given);
    for (const name in given) {
      if (name in group || name === 'initialLr' || name === 'paramNames') continue;
      const [near] = nearestNames(name, names);
      if (near !== undefined || isOther)
        mismatch(
          `parameter group ${i} of the loaded state dict has an option '${name}', which this optimizer has not`,
          near === undefined ? `Its options are: ${names.join(', ')}.` : `Did you mean '${near}'?`,
        );
    }
    const { params = [] } = given;
    if (params.length !== group.params.length)
      mismatch(
        `loaded state dict contains a parameter group that doesn't match the size of optimizer's group: group ${i} has ${params.length} parameters in it, ${group.params.length} here`,
      );
  });
}

/** Replaces options and state of an optimizer. @throws state-dict-mismatch, before anything is changed */
export function importState<O extends CommonOptions>(
  given: unknown,
  {
    paramGroups: groups,
    state: states,
    defaults,
  }: {
    readonly paramGroups: ParamGroup<O>[];
    readonly state: Map<Tensor, ParamState>;
    readonly defaults: O;
  },
  fresh: (param: Tensor, group: O) => Readonly<Record<string, Tensor>>,
): void {
  const { state: records, paramGroups: saved } = readStateDict(given, groups);
  checkGroups(saved, groups, defaults);
  const loaded = new Map<Tensor, ParamState>();
  groups.forEach((group, i) => {
    group.params.forEach((param, at) => {
      const number = saved[i]!.params[at]!;
      const own = records[number];
      if (own === undefined) return;
      const likes = fresh(param, { ...group, ...saved[i] });
      loaded.set(param, stateOf(own, param, likes, number));
    });
  });
  groups.forEach((group, i) => Object.assign(group, { ...saved[i], params: group.params }));
  states.clear();
  for (const [param, state] of loaded) states.set(param, state);
}

function stateOf(
  saved: Readonly<Record<string, Tensor | number>>,
  param: Tensor,
  likes: Readonly<Record<string, Tensor>>,
  number: number,
): ParamState {
  const tensors: Record<string, Tensor> = {};
  const numbers: Record<string, number> = {};
  for (const [name, value] of Object.entries(saved)) {
    if (!isTensor(value)) numbers[name] = value;
    // A single number that is no state of a parameter without dimensions: NAdam's product of momenta.
    else if (value.ndim === 0 && (param.ndim > 0 || !(name in likes)))
      numbers[name] = itemAtOnce(value);
    else {
      const { sizes } = likes[name] ?? param;
      if (!sameNumbers(value.sizes, sizes))
        mismatch(
          sameNumbers(sizes, param.sizes)
            ? `${name} of parameter ${number} has shape ${formatSizes(value.sizes)}, the parameter has shape ${formatSizes(param.sizes)}`
            : `${name} of parameter ${number} has shape ${formatSizes(value.sizes)} instead of ${formatSizes(sizes)}`,
        );
      tensors[name] = noGrad(() => keep(value.to(param.dtype).to(param.device).clone()));
    }
  }
  // PyTorch's SGD keeps no step count: a momentum buffer means that there was a step.
  const { step = 1, ...carried } = numbers;
  return { step, carried, tensors };
}
