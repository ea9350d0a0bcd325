/**
 * @file Parameter groups: which tensors an optimizer updates, with which options.
 */
import { TesseraError } from '@tessera/shared';
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
  /** The learning rate that a scheduler started from. */
  initialLr?: number;
};

/** Options as they are given: those left out have defaults, and a learning rate may be a tensor of one element on the CPU. */
export type OptionsInput<O extends CommonOptions> = Partial<Omit<O, 'lr'>> & {
  readonly lr?: number | Tensor;
};

/** A group as it is given to an optimizer: options left out are the optimizer's defaults. */
export type ParamGroupInput<O extends CommonOptions> = OptionsInput<O> & {
  readonly params: Iterable<Tensor> | Tensor;
};

/** What an optimizer is made from: parameters, or groups of them. */
export type OptimizerParams<O extends CommonOptions> =
  Iterable<Tensor> | Iterable<ParamGroupInput<O>>;

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
  const items = listOf<Tensor | ParamGroupInput<O>>(params);
  if (items.length === 0) {
    throw new TesseraError('invalid-argument', 'optimizer got an empty parameter list', {
      hints: ['Pass model.parameters(), or groups { params, … }.'],
    });
  }
  if (items.every(isTensor)) return [{ params: items } as unknown as ParamGroupInput<O>];
  return items as ParamGroupInput<O>[];
}

/** The tensors of a group input. @throws invalid-argument for anything that cannot be optimized */
export function checkedParams(
  params: Iterable<Tensor> | Tensor,
  taken: ReadonlySet<Tensor>,
): Tensor[] {
  const list = isTensor(params) ? [params] : listOf(params);
  const seen = new Set(taken);
  for (const param of list) {
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
  }
  return list;
}
