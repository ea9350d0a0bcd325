/**
 * @file The model and the tokenizer of what was chosen in the page.
 */
import { initWebGpu, registerKernelBackend } from '@tessera/compile';
import { TesseraError } from '@tessera/shared';
import { type LoadCheckpointOptions, type Tensor, loadCheckpoint } from '@tessera/tensor';
import {
  type CausalLM,
  type LoadCausalLMOptions,
  TextGenerator,
  loadCausalLM,
  makeCausalLM,
  quantize,
  readGgufMetadata,
} from '@tessera/transformers';
import { Chat } from '../chat.js';
import { ggufVocabulary } from '../gguf-vocabulary.js';
import { roundedTo } from '../rounded-to.js';
import { type ReadText, Vocabulary, type VocabularyFiles, readVocabulary } from '../vocabulary.js';
import type { LoadRequest, ModelSource } from './messages.js';

/** Tokens that are kept in mind, where the model has as many. */
const MOST_LENGTH = 2048;

type LoadOptions = Pick<LoadCausalLMOptions, 'device' | 'onProgress' | 'packed'>;

interface Loaded {
  readonly model: CausalLM;
  readonly files: VocabularyFiles;
}

async function gguf(source: string | File, options: LoadOptions): Promise<Loaded> {
  const files = ggufVocabulary(await readGgufMetadata(source));
  return { model: await loadCausalLM(source, options), files };
}

function textsAt(folder: string): ReadText {
  return async (name) => {
    const response = await fetch(new URL(name, folder.replace(/\/?$/, '/')));
    if (response.status === 404) return null;
    if (response.ok) return response.text();
    throw new TesseraError('source-unreadable', `${response.url}: ${response.status}.`);
  };
}

/** Files of a chosen folder; those of folders in it are left out. */
async function chosenFolder(files: readonly File[], options: LoadOptions): Promise<Loaded> {
  const top = files.filter((file) => file.webkitRelativePath.split('/').length <= 2);
  const read: ReadText = async (name) =>
    (await top.find((file) => file.name === name)?.text()) ?? null;
  const config = await read('config.json');
  const weights = top.filter(({ name }) => /^model.*\.safetensors$/.test(name));
  if (config === null || weights.length === 0)
    throw new TesseraError('model-invalid', 'The folder has no config.json or no weights.', {
      hints: ['Choose the folder itself, with config.json and model*.safetensors in it.'],
    });
  const vocabulary = await readVocabulary(read, 'the folder');
  const tensors: Record<string, Tensor> = {};
  const { packed: _packed, ...reading } = options;
  for (const file of weights) Object.assign(tensors, await loadCheckpoint(file, reading));
  const generation = await read('generation_config.json');
  const model = makeCausalLM(
    tensors,
    JSON.parse(config),
    generation === null ? null : JSON.parse(generation),
  );
  return { model, files: vocabulary };
}

async function load(source: ModelSource, options: LoadOptions): Promise<Loaded> {
  if (source.kind === 'gguf') return gguf(source.file, options);
  if (source.kind === 'folder') return chosenFolder(source.files, options);
  const { address } = source;
  if (new URL(address).pathname.toLowerCase().endsWith('.gguf')) return gguf(address, options);
  const files = await readVocabulary(textsAt(address), address);
  return { model: await loadCausalLM(address, options), files };
}

/** See the file header. @throws model-unsupported, model-invalid, source-unreadable, gguf-invalid */
export async function openPageChat(
  { source, quantize: bits, device }: LoadRequest,
  onProgress: LoadCheckpointOptions['onProgress'],
): Promise<{ chat: Chat; model: CausalLM }> {
  if (device === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  const { model, files } = await load(source, { device, onProgress, packed: bits === null });
  if (bits !== null) await quantize(model, roundedTo(bits));
  const maxLength = Math.min(MOST_LENGTH, model.config.maxPositions);
  const chat = new Chat(new TextGenerator(model, { maxLength }), new Vocabulary(files), {
    maxNewTokens: maxLength,
  });
  return { chat, model };
}
