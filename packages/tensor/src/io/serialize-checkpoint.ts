/**
 * @file The bytes of a checkpoint whose tensors may be on any device: what `saveCheckpoint` writes to a file, for pages, which
 * have no file system.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { download } from '../device-copy.js';
import type { Tensor } from '../tensor.js';
import type { SavedOptimizer } from './optimizer-tensors.js';
import { type OwnBytes, serializeSafetensors } from './safetensors.js';
import { savedTensors } from './saved-tensors.js';

/** What `serializeCheckpoint` takes besides the tensors. */
export interface SerializeCheckpointOptions {
  readonly metadata?: Readonly<Record<string, string>>;
}

const OPTIONS: OptionNames<SerializeCheckpointOptions> = { metadata: true };

/**
 * The bytes of a safetensors file with tensors of any device, or with the state dict of an optimizer, as `saveCheckpoint`
 * writes it; `loadCheckpoint` reads them. For a page, which keeps them in its private file system or in IndexedDB, or
 * offers them as a download.
 *
 * @throws invalid-argument for anything but tensors
 * @example
 * const bytes = await serializeCheckpoint(optimizer.stateDict());
 * optimizer.loadStateDict(await loadCheckpoint(bytes));
 * @see serializeSafetensors for tensors in host memory, at once
 */
export async function serializeCheckpoint(
  values: Readonly<Record<string, Tensor>> | SavedOptimizer,
  options: SerializeCheckpointOptions = {},
): Promise<OwnBytes> {
  checkOptionNames('serializeCheckpoint', options, OPTIONS);
  const call = 'serializeCheckpoint(model.stateDict())';
  return serializeDownloaded(savedTensors('serializeCheckpoint', call, values), options.metadata);
}

/** The bytes of tensors by name, those of other devices downloaded first. */
export async function serializeDownloaded(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> | undefined,
): Promise<OwnBytes> {
  const here: Record<string, Tensor> = {};
  for (const [name, tensor] of Object.entries(tensors))
    here[name] = tensor.device === 'cpu' ? tensor : await download(tensor);
  return serializeSafetensors(here, metadata);
}
