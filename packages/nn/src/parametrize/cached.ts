/**
 * @file Values of parametrized tensors that are computed once for several reads.
 */
import { checkFunction } from '@tessera/shared';
import { type Tensor, isGradEnabled } from '@tessera/tensor';
import { activeMode } from '@tessera/tensor/internal';

interface Cache {
  /** What recorded the program when the cache began: values of one program are none of another. */
  readonly mode: ReturnType<typeof activeMode>;
  /** Computed with gradients and without. */
  readonly values: Readonly<Record<'true' | 'false', Map<object, Tensor>>>;
}

let cache: Cache | null = null;

/** The value of a list of parametrizations: as it was computed before in `cached`, or computed now. */
export function computed(list: { call(): Tensor }): Tensor {
  if (cache === null || cache.mode !== activeMode()) return list.call();
  const values = cache.values[`${isGradEnabled()}`];
  const known = values.get(list);
  if (known !== undefined) return known;
  const value = list.call();
  values.set(list, value);
  return value;
}

/** Drops what was computed of a list whose originals change. */
export function forget(list: object): void {
  cache?.values.true.delete(list);
  cache?.values.false.delete(list);
}

/**
 * Calls a function in which each parametrized tensor is computed once, when first read: for weights that are used several
 * times, as of a recurrent cell. What an optimizer does to the originals in between is not seen. An async function has the
 * cache until it first awaits; compiled functions have one where they call `cached` themselves.
 *
 * @example parametrize.cached(() => xs.reduce((h, x) => cell.call(x, h), start))
 * @see torch.nn.utils.parametrize.cached
 */
export function cached<R>(fn: () => R): R {
  checkFunction('cached', fn);
  const outer = cache;
  const mode = activeMode();
  // Inside of another the values are shared, as long as it is the same program.
  if (outer === null || outer.mode !== mode)
    cache = { mode, values: { true: new Map(), false: new Map() } };
  try {
    return fn();
  } finally {
    cache = outer;
  }
}
