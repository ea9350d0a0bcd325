/**
 * @file The index of a checkpoint in several files: `model.safetensors.index.json` says what is where.
 */
import { TesseraError, messageOf } from '@tessera/shared';

/** @throws safetensors-invalid */
export function invalidCheckpoint(why: string): never {
  throw new TesseraError('safetensors-invalid', `Not a valid checkpoint: ${why}.`, {
    hints: ['Check that all files of the checkpoint were downloaded completely.'],
  });
}

/** File of each tensor. @throws safetensors-invalid */
export function parseIndex(json: Uint8Array): Map<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    invalidCheckpoint(`the index is not JSON (${messageOf(error)})`);
  }
  const { weight_map: map }: { weight_map?: unknown } = parsed ?? {};
  if (typeof map !== 'object' || map === null) invalidCheckpoint('the index has no weight_map');
  const result = new Map<string, string>();
  for (const [name, file] of Object.entries(map)) {
    // Only files beside the index: an index from elsewhere must not choose what else is read.
    if (typeof file !== 'string' || !/^[^/\\:]+\.safetensors$/.test(file))
      invalidCheckpoint(`the index names ${JSON.stringify(file)} as the file of '${name}'`);
    result.set(name, file);
  }
  return result;
}
