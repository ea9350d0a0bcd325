/**
 * @file What happens to a function that has been traced too often.
 */
import { TesseraError } from '@tessera/shared';
import { traceConfig } from './config.js';
import type { EagerCall } from './eager-call.js';

/** The option that allows no more traces. */
export type Limit = 'recompileLimit' | 'accumulatedRecompileLimit';

const hintOf = (limit: Limit): string =>
  `Set TESSERA_LOGS=recompiles to see every reason, or raise config trace.${limit}.`;

function hit(name: string, limit: Limit): string {
  return `${name} hit trace.${limit} (${traceConfig[limit]})`;
}

/** A call that fits no trace beyond a limit. */
export function beyondLimit(name: string, limit: Limit, reason: string): EagerCall {
  return {
    option: `trace.${limit}`,
    reason: `${hit(name, limit)} and runs eagerly from where it diverges. Last reason: ${reason}.`,
    hint: hintOf(limit),
  };
}

/** A call with sizes that come too seldom to be worth code. */
export function beyondSizes(name: string): EagerCall {
  return {
    option: 'trace.sizeLimit',
    reason: `${name} is called with many sizes; those that come seldom run eagerly, and code is kept for ${traceConfig.sizeLimit}.`,
    hint: 'Call it with fewer sizes, or raise config trace.sizeLimit.',
  };
}

/** Says that calls run eagerly from now on. */
export function warnOfEager({ reason, hint }: EagerCall): void {
  console.warn(`tessera: ${reason} ${hint}`);
}

/** Beyond a limit, where nothing may run eagerly. */
export function limitError(name: string, limit: Limit, reason: string): TesseraError {
  return new TesseraError(
    'trace-recompile-limit',
    `${hit(name, limit)}, and fullgraph allows nothing to run eagerly. Last reason: ${reason}.`,
    { hints: [hintOf(limit), 'Or compile without fullgraph.'] },
  );
}

/** The longest run of calls that are not even tried. */
const LONGEST = 1024;

/**
 * How often a function beyond its limit is still replayed: finding out that no trace fits costs more than the
 * eager call, so after each miss twice as many calls run eagerly at once.
 */
export class Backoff {
  private penalty = 0;
  private left = 0;

  /** Whether the next call runs eagerly at once. */
  skips(): boolean {
    if (this.left === 0) return false;
    this.left--;
    return true;
  }

  /** No trace fitted. */
  missed(): void {
    this.penalty = Math.min(LONGEST, Math.max(1, 2 * this.penalty));
    this.left = this.penalty;
  }

  /** One fitted. */
  fitted(): void {
    this.penalty >>= 1;
  }
}
