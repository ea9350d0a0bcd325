/**
 * @file The model, the tokenizer and the generator of a command.
 */
import { initWebGpu, registerKernelBackend } from '@tessera/compile';
import { TextGenerator, loadCausalLM, quantize, readGgufMetadata } from '@tessera/transformers';
import { Chat } from './chat.js';
import { ggufVocabulary } from './gguf-vocabulary.js';
import type { ChatCommand } from './options.js';
import { Vocabulary, folderVocabulary } from './vocabulary.js';

/** Loads what a command names. @throws model-unsupported, model-invalid, source-unreadable, gguf-invalid */
export async function openChat(command: ChatCommand): Promise<Chat> {
  const { model: source, tokenizer, device, seed } = command;
  const isFile = source.toLowerCase().endsWith('.gguf');
  const files =
    isFile && tokenizer === undefined
      ? ggufVocabulary(await readGgufMetadata(source))
      : await folderVocabulary(tokenizer ?? source);
  const vocabulary = new Vocabulary(files);
  if (device === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  const model = await loadCausalLM(source, { device });
  if (command.quantize === 8) quantize(model, { bits: 8 });
  if (command.quantize === 4) quantize(model, { bits: 4, group: 32 });
  const maxLength = Math.min(command.maxLength ?? 2048, model.config.maxPositions);
  return new Chat(
    new TextGenerator(model, { maxLength }),
    vocabulary,
    {
      temperature: command.temperature,
      topP: command.topP,
      maxNewTokens: command.maxTokens,
      ...(seed !== undefined && { seed }),
    },
    command.system,
  );
}
