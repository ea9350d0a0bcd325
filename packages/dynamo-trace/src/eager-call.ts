/**
 * @file Why a call of a compiled function runs eagerly: a limit was reached (`recompile-limit.ts`), or the call is inside
 * a mode that must see every operator.
 */
import { activeMode, anomaly } from '@tessera/tensor/internal';
import { Cursor } from './cursor/cursor.js';
import type { Limit } from './recompile-limit.js';

/** Why a call runs eagerly although its function is compiled. */
export interface EagerCall {
  /** The option whose limit was reached; null where it is a mode that the call runs in. */
  readonly option: `trace.${Limit | 'sizeLimit'}` | null;
  readonly reason: string;
  readonly hint: string;
}

/** The mode because of which a call of `name` is not traced by itself; null where there is none. */
export function modeAround(name: string, args: readonly unknown[]): EagerCall | 'traced' | null {
  const mode = activeMode(args);
  // Inside another compiled function it is part of that one's graphs.
  if (mode instanceof Cursor) return 'traced';
  if (mode !== null)
    return {
      option: null,
      reason: `${name} was called inside ${mode.name}, which must see its operators.`,
      hint: `Compile the function around ${mode.name} instead, or call ${name} outside of it.`,
    };
  if (anomaly.active === null) return null;
  return {
    option: null,
    reason: `anomaly detection is on, which notes where each operator of ${name} is called.`,
    hint: 'Turn it off: setDetectAnomaly(false), or call outside of detectAnomaly().',
  };
}
