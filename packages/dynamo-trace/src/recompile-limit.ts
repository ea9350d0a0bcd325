/**
 * @file What happens to a function that has been traced too often.
 */
import { TesseraError } from '@tessera/shared';
import { traceConfig } from './config.js';

const HINT =
  'Set TESSERA_LOGS=recompiles to see every reason, or raise config trace.recompileLimit.';

function hit(name: string): string {
  return `${name} hit trace.recompileLimit (${traceConfig.recompileLimit})`;
}

/** Says that a function runs eagerly from now on where no trace fits. */
export function warnOfLimit(name: string, reason: string): void {
  console.warn(
    `tessera: ${hit(name)} and runs eagerly from where it diverges. Last reason: ${reason}. ${HINT}`,
  );
}

/** The same where nothing may run eagerly. */
export function limitError(name: string, reason: string): TesseraError {
  return new TesseraError(
    'trace-recompile-limit',
    `${hit(name)}, and fullgraph allows nothing to run eagerly. Last reason: ${reason}.`,
    { hints: [HINT, 'Or compile without fullgraph.'] },
  );
}
