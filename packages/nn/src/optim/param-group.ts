/**
 * @file Parameter groups: which tensors an optimizer updates, with which options.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';

/** Options that every optimizer has. */
export interface CommonOptions {
  /** Learning rate. */
  lr: number;
}

/** Tensors that are updated with the same options. The options may be changed at any time. */
export type ParamGroup<O extends CommonOptions = CommonOptions> = O & {
  /** In the order in which they are updated. */
  readonly params: readonly Tensor[];
  /** Names of the parameters, where they were given with names. */
  paramNames?: readonly string[];
  /** The learning rate that a scheduler started from. */
  initialLr?: number;
  /** What the program keeps with the group, by names of its own; in state dicts, too. */
  [own: string]: unknown;
};

/** Parameters, or all of them with their names as `namedParameters()` has them. */
export type GivenParams = Iterable<Tensor> | Iterable<readonly [name: string, param: Tensor]>;

/** Betas, of which each may be a tensor of one element on the CPU. */
type Betas = readonly [number | Tensor, number | Tensor];

/** Options as they are given: those left out have defaults; a learning rate and betas may be tensors of one element on the CPU. */
export type OptionsInput<O extends CommonOptions> = Partial<Omit<O, 'lr' | 'betas'>> & {
  readonly lr?: number | Tensor;
} & (O extends { betas: unknown } ? { readonly betas?: Betas } : unknown);

/**
 * A group as it is given to an optimizer: options left out are the optimizer's defaults, names of the program's own
 * (`name`, `lrScale`) are kept, unless they look like a misspelt option.
 */
export type ParamGroupInput<O extends CommonOptions> = OptionsInput<O> & {
  readonly params: GivenParams | Tensor;
  readonly [own: string]: unknown;
};

/** What an optimizer is made from: parameters, or groups of them. */
export type OptimizerParams<O extends CommonOptions> = GivenParams | Iterable<ParamGroupInput<O>>;

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return `a ${value.constructor?.name ?? 'plain object'}`;
}

/** @throws invalid-argument for what is no list */
function listOf<T>(params: Iterable<T>): T[] {
  if (typeof params !== 'object' || params === null || !(Symbol.iterator in params)) {
    throw new TesseraError(
      'invalid-argument',
      `an optimizer takes parameters or groups of them, not ${describe(params)}`,
      { hints: ['Pass model.parameters(), or groups { params, … }.'] },
    );
  }
  return [...params];
}

/** Groups from either form. @throws invalid-argument if there is no parameter at all */
export function toGroups<O extends CommonOptions>(
  params: OptimizerParams<O>,
): ParamGroupInput<O>[] {
  const items = listOf<Tensor | readonly [string, Tensor] | ParamGroupInput<O>>(params);
  if (items.length === 0) {
    throw new TesseraError('invalid-argument', 'optimizer got an empty parameter list', {
      hints: ['Pass model.parameters(), or groups { params, … }.'],
    });
  }
  if (items.every((item) => isTensor(item) || Array.isArray(item)))
    return [{ params: items } as ParamGroupInput<O>];
  return items as ParamGroupInput<O>[];
}

/** @throws invalid-argument for names that are near to one of the options; others are the program's own */
export function checkGroupNames(optimizer: object, input: unknown, options: object): void {
  checkOptionNames(
    `A parameter group of ${optimizer.constructor.name}`,
    input,
    { params: true, ...options, initialLr: true },
    // Nobody's own name, and near to none of ours.
    (name) => !/^learning_?rate$/i.test(name),
  );
}

/** The tensors of a group input, with their names if they have any. @throws invalid-argument for anything that cannot be optimized */
export function checkedParams(
  given: GivenParams | Tensor,
  others: readonly ParamGroup[],
): { params: Tensor[]; paramNames?: string[] } {
  const params: Tensor[] = [];
  const paramNames: string[] = [];
  const seen = new Set(others.flatMap((group) => group.params));
  for (const item of isTensor(given)
    ? [given]
    : listOf<Tensor | readonly [string, Tensor]>(given)) {
    const param = Array.isArray(item) ? item[1] : item;
    if (Array.isArray(item)) paramNames.push(String(item[0]));
    if (!isTensor(param))
      throw new TesseraError(
        'invalid-argument',
        `optimizer can only optimize Tensors, but one of the params is ${typeof param}`,
        { hints: ['Pass model.parameters().'] },
      );
    if (!param.isLeaf)
      throw new TesseraError('invalid-argument', "can't optimize a non-leaf Tensor", {
        hints: ['Optimize the parameter itself, not something computed from it.'],
      });
    if (seen.has(param))
      throw new TesseraError(
        'invalid-argument',
        'some parameters appear more than once in the parameter groups',
        { hints: ['Name each parameter once.'] },
      );
    seen.add(param);
    params.push(param);
  }
  const isNamed = paramNames.length > 0;
  if (
    (isNamed && paramNames.length < params.length) ||
    others.some((group) => (group.paramNames !== undefined) !== isNamed)
  )
    throw new TesseraError(
      'invalid-argument',
      'all optimizer params should be with/without names. Some param names are missing',
      { hints: ['Pass model.namedParameters(), or model.parameters(), in every group.'] },
    );
  return isNamed ? { params, paramNames } : { params };
}
