/**
 * @file `readGgufMetadata`: what a GGUF file says of itself, for tokenizers and chat templates.
 */
import type { GgufSource, LoadCausalLMOptions } from '../load/load-causal-lm.js';
import type { GgufValue } from './gguf-header.js';

export type { GgufValue } from './gguf-header.js';

/** Values of a header by their names in the file, as `tokenizer.chat_template`. */
export type GgufMetadata = ReadonlyMap<string, GgufValue>;

/**
 * The values of a GGUF file's header.
 *
 * @throws gguf-invalid, model-unsupported, source-unreadable; the reason of the signal
 * @example const template = (await readGgufMetadata('model.gguf')).get('tokenizer.chat_template');
 */
export async function readGgufMetadata(
  source: GgufSource,
  options: Pick<LoadCausalLMOptions, 'signal' | 'requestInit'> = {},
): Promise<GgufMetadata> {
  const { metadataOfGguf } = await import('./load-gguf.js');
  return metadataOfGguf(source, options);
}
