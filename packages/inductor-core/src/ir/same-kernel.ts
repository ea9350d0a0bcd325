/**
 * @file Whether two kernels are the same but for their names: kernels are data.
 */
import { type Size, SymInt } from '@tessera/shared';
import type { FusedKernel } from './kernel.js';

/** See the file header. */
export function sameKernel(a: FusedKernel<Size>, b: FusedKernel<Size>): boolean {
  return new Comparison().values({ ...a, name: '' }, { ...b, name: '' });
}

class Comparison {
  /** Values that were found equal: what many expressions share is compared once. */
  private readonly equals = new Map<object, object>();

  values(a: unknown, b: unknown): boolean {
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
      return Object.is(a, b);
    if (a === b || this.equals.get(a) === b) return true;
    if (a instanceof SymInt || b instanceof SymInt) return String(a) === String(b);
    const names = Object.keys(a);
    const isSame =
      names.length === Object.keys(b).length &&
      names.every((name) => this.values(a[name as never], b[name as never]));
    if (isSame) this.equals.set(a, b);
    return isSame;
  }
}
