/**
 * @file Where the code of frozen graphs and of layouts is, if the program asked for it (`useFreezing`).
 */
import type { GraphModule } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import type { Pass } from '../pass.js';
import type { FreezeOptions, GraphFunction } from './frozen-function.js';

/** What `useFreezing` brings. */
export interface FreezingCode {
  readonly freezeFunction: (module: GraphModule, options: FreezeOptions) => GraphFunction;
  /** Passes on graphs whose parameters have become constants. */
  readonly freezingPipeline: () => readonly Pass[];
  readonly layoutOptimization: (frozen: boolean) => Pass;
}

const known: { code: FreezingCode | null } = { code: null };

export function registerFreezing(code: FreezingCode): void {
  known.code = code;
}

export function hasFreezing(): boolean {
  return known.code !== null;
}

/** The code, for whoever finds an option set. @throws invalid-config-value */
export function freezingCode(option: string): FreezingCode {
  if (known.code !== null) return known.code;
  throw new TesseraError(
    'invalid-config-value',
    `config.${option} needs code that this page left out.`,
    {
      context: { option },
      hints: ["import { useFreezing } from '@tessera/compile', and call it before compiling."],
    },
  );
}
