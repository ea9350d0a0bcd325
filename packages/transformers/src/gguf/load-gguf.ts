/**
 * @file A GGUF file as a model, in one pass over its bytes: the header, then each tensor into its memory. Of a model of
 * several files the headers are read first, then the tensors of one file after the other.
 */
import { TesseraError } from '@tessera/shared';
import type { ByteSource, DType, Tensor } from '@tessera/tensor';
import {
  Cursor,
  loadBlocks,
  readList,
  reading,
  resolveSource,
  startLoading,
} from '@tessera/tensor/internal';
import type { DecoderConfig } from '../config/decoder-config.js';
import { readConfig } from '../config/families.js';
import type { LoadCausalLMOptions } from '../load/load-causal-lm.js';
import { modelOf } from '../load/model-of.js';
import type { CausalLM } from '../model/causal-lm.js';
import { toModelWeights } from '../weights/convert-weights.js';
import { FACTORS, type RotaryFactors, configOfGguf } from './gguf-config.js';
import { type GgufHeader, type GgufTensor, readGgufHeader } from './gguf-header.js';
import { invalidGguf } from './gguf-invalid.js';
import { ggufRules } from './gguf-weights.js';
import { SCALES, packedTensor } from './packed-tensor.js';
import { checkSplit, otherFiles } from './split-files.js';

function endsEarly(position: number, missing: number): never {
  invalidGguf(`it ends after ${position} bytes, ${missing} before what its header says`);
}

/** Reads a file; `use` gets its header and the cursor behind it. */
async function readFile<T>(
  source: ByteSource,
  options: LoadCausalLMOptions,
  parts: boolean,
  use: (header: GgufHeader, cursor: Cursor) => Promise<T>,
): Promise<T> {
  const loading = startLoading(source, options);
  const results: T[] = [];
  await reading(resolveSource(source), loading, parts, async (file) => {
    const { signal } = loading;
    const onBytes = (loaded: number): void =>
      options.onProgress?.({ file: file.name, loaded, total: file.size });
    const cursor = new Cursor(file, { signal, ended: endsEarly, onBytes });
    let good = false;
    try {
      results[0] = await use(await readGgufHeader(cursor, file), cursor);
      good = !parts;
    } finally {
      await cursor.close(good);
    }
  });
  return results[0]!;
}

/** The type of all matrices, where it is one that tensors have. */
function storedDType(tensors: readonly GgufTensor[]): DType {
  const types = new Set(tensors.flatMap(({ sizes, type }) => (sizes.length > 1 ? [type] : [])));
  if (types.size !== 1) return 'float32';
  return types.has('F16') ? 'float16' : types.has('BF16') ? 'bfloat16' : 'float32';
}

/** Llama 3's stretching is recognised by the factors that it gives. @throws model-unsupported */
function checkFrequencies(expected: readonly number[], factors: readonly number[]): void {
  const good =
    expected.length === factors.length &&
    expected.every((value, i) => Math.abs(value - factors[i]!) <= 1e-4 * value);
  if (good) return;
  throw new TesseraError('model-unsupported', `'${FACTORS.all}' holds factors of its own.`, {
    hints: ['Only those of Llama 3 (8,192 positions, wavelengths from 1 to 4) are known.'],
  });
}

/** What each pair's frequency is divided by in Llama 3, `theta` apart. */
function llama3Factors(count: number, theta: number, factor: number): number[] {
  return Array.from({ length: count }, (_, i) => {
    const turns = (8192 * theta ** (-i / count)) / (2 * Math.PI);
    if (turns < 1) return factor;
    if (turns > 4) return 1;
    const share = (turns - 1) / 3;
    return 1 / ((1 - share) / factor + share);
  });
}

/** See the file header. @throws gguf-invalid, model-unsupported, model-invalid, source-unreadable */
export async function loadGguf(
  source: ByteSource,
  options: LoadCausalLMOptions,
): Promise<CausalLM> {
  const { device = 'cpu' } = options;
  return readFile(source, options, false, async (header, cursor) => {
    const others = otherFiles(resolveSource(source), header.metadata);
    const headers = [header];
    for (const other of others) headers.push(await headerOf(other, options));
    if (others.length > 0) checkSplit(headers);
    const { metadata } = header;
    const whole = { metadata, tensors: headers.flatMap((each) => each.tensors) };
    const dtype = options.dtype ?? storedDType(whole.tensors);
    // Before anything is read: a file of another architecture is refused at once.
    configOfGguf(whole, {});
    const read = (from: Cursor, { tensors }: GgufHeader): Promise<Record<string, Tensor>> =>
      loadBlocks(from, options.packed === true ? tensors.map(packedTensor) : tensors, {
        dtype,
        device,
      });
    const tensors = await read(cursor, header);
    try {
      for (const other of others)
        await readFile(other, options, false, async (its, at) => {
          Object.assign(tensors, await read(at, its));
        });
    } catch (error) {
      for (const tensor of Object.values(tensors)) tensor.dispose();
      throw error;
    }
    const factors = await takeFactors(tensors);
    const config = readConfig(configOfGguf(whole, factors));
    const { all } = factors;
    if (all !== undefined && config.positions.kind === 'rotary')
      checkFrequencies(
        llama3Factors(config.positions.dims / 2, config.positions.theta, Math.max(...all)),
        all,
      );
    const architecture = metadata.get('general.architecture') as string;
    return modelOf(modelWeights(tensors, architecture, config), config, options.packed);
  });
}

/** What the tensors that are no weights hold; they are taken out of `tensors`. */
async function takeFactors(tensors: Record<string, Tensor>): Promise<RotaryFactors> {
  const found: Record<string, number[]> = {};
  for (const [key, name] of Object.entries(FACTORS)) {
    const tensor = tensors[name];
    if (tensor === undefined) continue;
    delete tensors[name];
    found[key] = await readList(tensor);
    tensor.dispose();
  }
  return found;
}

/** Tensors under the decoder's names, packed weights as their layers take them. */
function modelWeights(
  tensors: Readonly<Record<string, Tensor>>,
  architecture: string,
  config: DecoderConfig,
): Record<string, Tensor> {
  const weights = ggufRules(architecture, config);
  const [own, scales]: Record<string, Tensor>[] = [{}, {}];
  for (const [name, tensor] of Object.entries(tensors))
    if (name.endsWith(SCALES)) scales![name.slice(0, -SCALES.length)] = tensor;
    else own![name] = tensor;
  const state = toModelWeights(own!, { weights }, config);
  // Rules move rows, which scales begin with; layers have them behind the groups.
  const turned = Object.entries(toModelWeights(scales!, { weights }, config)).map(
    ([name, tensor]) => {
      const layer = name.replace(/\.weight$/, SCALES);
      const groupsFirst = tensor.transpose(0, 1).contiguous();
      if (groupsFirst.storage !== tensor.storage) tensor.dispose();
      return [layer, groupsFirst] as const;
    },
  );
  return { ...state, ...Object.fromEntries(turned) };
}

function headerOf(source: ByteSource, options: LoadCausalLMOptions): Promise<GgufHeader> {
  return readFile(source, options, true, (header) => Promise.resolve(header));
}

/** The values of a file's header; of a server that answers range requests little more is asked for. */
export async function metadataOfGguf(
  source: ByteSource,
  options: LoadCausalLMOptions,
): Promise<GgufHeader['metadata']> {
  return (await headerOf(source, options)).metadata;
}
