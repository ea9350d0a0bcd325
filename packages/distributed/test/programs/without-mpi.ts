/**
 * Prints why there is no MPI.
 */
import { isTesseraError } from '@tessera/shared';
import { initProcessGroup } from '../../src/index.js';

try {
  await initProcessGroup();
  console.log('there is MPI');
} catch (error) {
  if (!isTesseraError(error)) throw error;
  console.log(error.code, error.message);
}
