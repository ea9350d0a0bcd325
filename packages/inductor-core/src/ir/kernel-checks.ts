/**
 * @file The checks of a kernel, numbered: how a kernel says which of them failed.
 */
import type { Size } from '@tessera/shared';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { Expr } from './expr.js';
import type { FusedKernel } from './kernel.js';
import { kernelRoots } from './kernel-parts.js';
import { postorder } from './walk.js';

/** Checks of a kernel in order, and the number of each `check` expression's. */
export interface KernelChecks {
  readonly list: readonly ValueCheck[];
  numberOf(expr: Extract<Expr, { kind: 'check' }>): number;
}

const known = new WeakMap<FusedKernel<Size>, KernelChecks>();

/** Equal keys are equal checks. */
export function checkKey(check: ValueCheck): string {
  return JSON.stringify(check);
}

/** The checks of a kernel; equal ones have one number. */
export function checksOf(kernel: FusedKernel<Size>): KernelChecks {
  let found = known.get(kernel);
  if (found === undefined) {
    const numbers = new Map<string, number>();
    const list: ValueCheck[] = [];
    for (const expr of postorder(kernelRoots(kernel))) {
      if (expr.kind !== 'check' || numbers.has(checkKey(expr.check))) continue;
      numbers.set(checkKey(expr.check), list.length);
      list.push(expr.check);
    }
    found = { list, numberOf: (expr) => numbers.get(checkKey(expr.check))! };
    known.set(kernel, found);
  }
  return found;
}
