/**
 * @file The checks of a kernel, numbered: how a kernel says which of them failed.
 */
import { type Size, SymInt } from '@tessera/shared';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { Expr } from './expr.js';
import type { FusedKernel } from './kernel.js';
import { kernelRoots } from './kernel-parts.js';
import { postorder } from './walk.js';

/** Checks of a kernel in order, and the number of each `check` expression's. */
export interface KernelChecks {
  readonly list: readonly ValueCheck<Size>[];
  numberOf(expr: Extract<Expr, { kind: 'check' }>): number;
}

const known = new WeakMap<FusedKernel<Size>, KernelChecks>();

/** Equal keys are equal checks. */
export function checkKey(check: ValueCheck<Size>): string {
  return JSON.stringify(check);
}

/** A check with the values of its sizes. */
export function checkAt<Count extends Size>(
  check: ValueCheck<Size>,
  valueOf: (size: SymInt) => Count,
): ValueCheck<Count | number> {
  const at = (value: unknown): unknown => (value instanceof SymInt ? valueOf(value) : value);
  return Object.fromEntries(
    Object.entries(check).map(([name, value]) => [name, at(value)]),
  ) as ValueCheck<Count | number>;
}

/** The checks of a kernel; equal ones have one number. */
export function checksOf(kernel: FusedKernel<Size>): KernelChecks {
  let found = known.get(kernel);
  if (found === undefined) known.set(kernel, (found = checksOfAll([kernel])));
  return found;
}

/** The checks of kernels that are launched as one. */
export function checksOfAll(kernels: readonly FusedKernel<Size>[]): KernelChecks {
  const numbers = new Map<string, number>();
  const list: ValueCheck<Size>[] = [];
  for (const expr of postorder(kernels.flatMap(kernelRoots))) {
    if (expr.kind !== 'check' || numbers.has(checkKey(expr.check))) continue;
    numbers.set(checkKey(expr.check), list.length);
    list.push(expr.check);
  }
  return { list, numberOf: (expr) => numbers.get(checkKey(expr.check))! };
}
