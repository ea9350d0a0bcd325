/**
 * @file Whether guards may be functions made from strings.
 */
import { canGenerateCode } from '@tessera/shared';
import { traceConfig } from '../config.js';

/** Whether the configuration wants generated guards and the host lets them be made. */
export function mayGenerate(): boolean {
  return traceConfig.generateCode && canGenerateCode();
}
