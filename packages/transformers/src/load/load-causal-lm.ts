/**
 * @file `loadCausalLM`: a Hugging Face folder, or a GGUF file, as a model.
 */
import { type OptionNames, TesseraError, checkOptionNames, isTesseraError } from '@tessera/shared';
import {
  type ByteSource,
  type DType,
  type DeviceType,
  type LoadCheckpointOptions,
  type Tensor,
  isTensor,
  loadCheckpoint,
} from '@tessera/tensor';
import { familyOf } from '../config/families.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import { readGeneration } from '../config/generation-config.js';
import { JsonConfig } from '../config/json-config.js';
import type { CausalLM } from '../model/causal-lm.js';
import { isQuantized } from '../quantize/quantized-folder.js';
import { toModelWeights } from '../weights/convert-weights.js';
import { type FolderOptions, ModelFolder } from './model-folder.js';
import { modelOf } from './model-of.js';

/** What `loadCausalLM` takes besides the folder. */
export interface LoadCausalLMOptions extends FolderOptions {
  /** Element type of the weights; default: as stored. Quantized models keep theirs. */
  readonly dtype?: DType;
  /** Where the model goes (default `cpu`). */
  readonly device?: DeviceType;
  /**
   * Whether the rounded matrices of a GGUF file (all types but Q2_K, Q5_1 and Q5_K) stay whole numbers of 4 or 8 bits, as
   * those of `quantize` are, instead of becoming floats (default false). Weights of experts become floats nevertheless.
   */
  readonly packed?: boolean;
  readonly cache?: LoadCheckpointOptions['cache'];
  readonly onProgress?: LoadCheckpointOptions['onProgress'];
}

const NAMES: OptionNames<LoadCausalLMOptions> = {
  dtype: true,
  device: true,
  packed: true,
  cache: true,
  onProgress: true,
  signal: true,
  requestInit: true,
};

/** A GGUF file. */
export type GgufSource = Extract<ByteSource, string | URL | Blob | ArrayBuffer | ArrayBufferView>;

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';

/** Whether a source is one file: GGUF files end in `.gguf`, and bytes can be no folder. */
function isFile(source: string | URL | GgufSource): source is GgufSource {
  if (typeof source === 'string') return /\.gguf(?:[?#]|$)/i.test(source);
  return source instanceof URL ? source.pathname.toLowerCase().endsWith('.gguf') : true;
}

/**
 * Loads a model from a folder with `config.json` and `model.safetensors`, or `model.safetensors.index.json` and its
 * shards. It is in evaluation mode, in the type of the file. Tensors go from the file into the memory of the weights:
 * loading takes the size of the file, and that of a layer where a family's weights are laid out in another way. Folders
 * of quantized models (`saveCausalLM`) give quantized models.
 *
 * A GGUF file is one model: its header says what `config.json` does, and rounded weights become floats of `dtype` while
 * they are read (default: the file's type of matrices if that is F16 or BF16, else `float32`). Of a model of several files
 * (`-00001-of-0000N.gguf`), give the first.
 *
 * @param source a path in Node or an address: of a folder, or of a file that ends in `.gguf`; or the bytes of such a file
 * @throws model-unsupported, model-invalid, source-unreadable, safetensors-invalid, gguf-invalid; the reason of the
 * signal
 * @example const model = await loadCausalLM('models/Llama-3.2-1B');
 * @example const small = await loadCausalLM('models/Llama-3.2-1B-Q4_K_M.gguf', { dtype: 'float16' });
 */
export async function loadCausalLM(
  source: string | URL | GgufSource,
  options: LoadCausalLMOptions = {},
): Promise<CausalLM> {
  checkOptionNames('loadCausalLM', options, NAMES);
  if (isFile(source)) {
    // Pages that load folders do not carry it.
    const { loadGguf } = await import('../gguf/load-gguf.js');
    return loadGguf(source, options);
  }
  const folder = source;
  const { device = 'cpu', signal, requestInit, dtype, cache, onProgress } = options;
  const files = new ModelFolder(folder, {
    ...(signal && { signal }),
    ...(requestInit && { requestInit }),
  });
  const config = await files.json('config.json');
  if (config === null)
    throw new TesseraError('model-invalid', `There is no config.json in ${String(folder)}.`, {
      hints: ['Give the folder itself, with config.json and *.safetensors in it.'],
    });
  const generation = await files.json('generation_config.json');
  const index = await files.json(INDEX);
  const checkpoint = await loadCheckpoint(files.at(index === null ? SINGLE : INDEX), {
    device,
    signal,
    requestInit,
    // Words and scales stay as they are.
    dtype: isQuantized(JsonConfig.of(config)) ? undefined : dtype,
    cache,
    onProgress,
  }).catch((error: unknown) => {
    if (index !== null || !isTesseraError(error, 'source-unreadable')) throw error;
    const [what] = error.message.split('\n→');
    throw new TesseraError('source-unreadable', what!, {
      context: error.context,
      cause: error,
      hints: [
        `Weights are read from ${SINGLE}, or the shards of ${INDEX}.`,
        'A folder with pytorch_model.bin: in Python, model.save_pretrained(folder) writes it anew.',
      ],
    });
  });
  return makeCausalLM(checkpoint, config, generation);
}

/**
 * A model from its parsed `config.json`, the tensors of its checkpoint and, where there is one,
 * `generation_config.json`. It takes the tensors over: they become the weights, and those that are converted are
 * released.
 *
 * @throws model-unsupported, model-invalid, invalid-argument for what is no tensor
 */
export function makeCausalLM(
  checkpoint: Readonly<Record<string, Tensor>>,
  config: unknown,
  generation: unknown = null,
): CausalLM {
  for (const [name, value] of Object.entries(checkpoint))
    if (!isTensor(value))
      throw new TesseraError('invalid-argument', `makeCausalLM: '${name}' is no tensor.`, {
        hints: ['Give what loadCheckpoint() gives.'],
      });
  const json = JsonConfig.of(config);
  const family = familyOf(json);
  const read = family.config(json);
  const asked = generation === null ? null : JsonConfig.of(generation, 'generation_config.json');
  const said = asked?.tokens('eos_token_id') ?? [];
  // As in `transformers`, the file for generation counts alone where it names some.
  const end = [...new Set(said.length > 0 ? said : read.tokens.end)];
  const quantized = isQuantized(json);
  const weights = quantized ? checkpoint : toModelWeights(checkpoint, family, read);
  // A head of its own beside the table counts, whatever the configuration says.
  const tied = read.tied && !('lm_head.weight' in weights);
  const whole: DecoderConfig = {
    ...read,
    tied,
    tokens: { ...read.tokens, end },
    ...(asked && { generation: readGeneration(asked) }),
  };
  return modelOf(weights, whole, quantized);
}
