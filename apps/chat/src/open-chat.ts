/**
 * @file The model, the tokenizer and the generator of a command.
 */
import { initWebGpu, registerKernelBackend } from '@tessera/compile';
import {
  type CausalLM,
  SpeculativeGenerator,
  TextGenerator,
  loadCausalLM,
  quantize,
  readGgufMetadata,
} from '@tessera/transformers';
import { Chat, type Writer } from './chat.js';
import { folderVocabulary } from './folder-vocabulary.js';
import { ggufVocabulary } from './gguf-vocabulary.js';
import type { ChatCommand } from './options.js';
import { roundedTo } from './rounded-to.js';
import { Vocabulary } from './vocabulary.js';

/** Tokens that a draft proposes at once. */
const LOOKAHEAD = 4;

/** Loads a model, with rounded weights where that was asked for; those of a GGUF file stay as they are. */
async function load(source: string, { device, quantize: bits }: ChatCommand): Promise<CausalLM> {
  const model = await loadCausalLM(source, { device, packed: bits === null });
  if (bits !== null) await quantize(model, roundedTo(bits));
  return model;
}

/** What writes the answers of a command. */
async function writerOf(command: ChatCommand): Promise<Writer> {
  const model = await load(command.model, command);
  const wanted = command.maxLength ?? 2048;
  if (command.draft === undefined)
    return new TextGenerator(model, { maxLength: Math.min(wanted, model.config.maxPositions) });
  const draft = await load(command.draft, command);
  // Proposals that are not accepted need places, too.
  const places = Math.min(model.config.maxPositions, draft.config.maxPositions) - LOOKAHEAD;
  const maxLength = Math.min(wanted, places);
  return new SpeculativeGenerator(model, draft, { lookahead: LOOKAHEAD, maxLength });
}

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
  const writer = await writerOf(command);
  const asked = writer.model.config.generation?.options ?? {};
  return new Chat(
    writer,
    vocabulary,
    {
      temperature: command.temperature ?? asked.temperature ?? 0.7,
      topP: command.topP ?? asked.topP ?? 0.95,
      maxNewTokens: command.maxTokens,
      ...(seed !== undefined && { seed }),
    },
    command.system,
  );
}
