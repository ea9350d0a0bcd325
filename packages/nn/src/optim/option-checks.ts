/**
 * @file Ranges of optimizer options.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import type { CommonOptions } from './param-group.js';

function describe(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
}

/** @throws invalid-argument unless `ok` */
export function checkOption(ok: boolean, name: string, value: unknown): void {
  if (ok) return;
  throw new TesseraError('invalid-argument', `Invalid ${name} value: ${describe(value)}`, {
    context: { option: name, value },
    hints: [
      isTensor(value)
        ? `Give a number: ${name} may change between steps, and nothing is compiled again.`
        : `See the range of ${name} in the documentation of the optimizer.`,
    ],
  });
}

/** @throws invalid-argument unless these options are numbers of at least 0 */
export function checkNonNegative<K extends string>(
  group: Readonly<Record<K, number>>,
  ...names: K[]
): void {
  for (const name of names)
    checkOption(typeof group[name] === 'number' && group[name] >= 0, name, group[name]);
}

/** Options of Adam and its relatives. */
interface AdaptiveOptions extends CommonOptions {
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
}

/** @throws invalid-argument unless all are in range */
export function checkAdaptive(group: AdaptiveOptions): void {
  checkNonNegative(group, 'lr', 'eps', 'weightDecay');
  const { betas } = group;
  const ok = Array.isArray(betas) && betas.length === 2 && betas.every((b) => b >= 0 && b < 1);
  checkOption(ok, 'betas', betas);
}
