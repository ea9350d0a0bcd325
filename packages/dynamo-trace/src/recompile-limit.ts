/**
 * @file What happens to a function that has been traced too often.
 */
import { TesseraError } from '@tessera/shared';
import { traceConfig } from './config.js';

/** The option that allows no more traces. */
export type Limit = 'recompileLimit' | 'accumulatedRecompileLimit';

const hintOf = (limit: Limit): string =>
  `Set TESSERA_LOGS=recompiles to see every reason, or raise config trace.${limit}.`;

function hit(name: string, limit: Limit): string {
  return `${name} hit trace.${limit} (${traceConfig[limit]})`;
}

/** Says that a function runs eagerly from now on where no trace fits. */
export function warnOfLimit(name: string, limit: Limit, reason: string): void {
  console.warn(
    `tessera: ${hit(name, limit)} and runs eagerly from where it diverges. Last reason: ${reason}. ${hintOf(limit)}`,
  );
}

/** The same where nothing may run eagerly. */
export function limitError(name: string, limit: Limit, reason: string): TesseraError {
  return new TesseraError(
    'trace-recompile-limit',
    `${hit(name, limit)}, and fullgraph allows nothing to run eagerly. Last reason: ${reason}.`,
    { hints: [hintOf(limit), 'Or compile without fullgraph.'] },
  );
}

/** Says that a function is called with more sizes than code is kept for. */
export function warnOfSizes(name: string): void {
  console.warn(
    `tessera: ${name} is called with many sizes; those that come seldom run eagerly, and code is kept for ${traceConfig.sizeLimit} (config trace.sizeLimit).`,
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
