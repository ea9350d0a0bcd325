/**
 * @file A decoder as a GGUF file for llama.cpp.
 *
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import type { DecoderConfig } from '@tessera/transformers';
import type { Format } from '../formats.js';
import type { ByteFile } from './byte-file.js';
import { type FloatWeights, bytesOf, toHalves } from './float-weights.js';
import { GgufHeader } from './gguf-header.js';
import { toBlocks } from './weight-blocks.js';

/** Columns that share a scale in Q8_0 and Q4_0. */
const BLOCK = 32;

/** Type codes of the format, and bytes of a block of 32 values. */
const TYPES = {
  float32: { code: 0, bytes: 4 * BLOCK },
  float16: { code: 1, bytes: 2 * BLOCK },
  int4: { code: 2, bytes: 2 + BLOCK / 2 },
  int8: { code: 8, bytes: 2 + BLOCK },
} as const;

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens/, 'token_embd'],
  [/^model\.embed_positions/, 'position_embd'],
  [/^model\.norm/, 'output_norm'],
  [/^lm_head/, 'output'],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj/, 'blk.$1.attn_$2'],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj/, 'blk.$1.attn_output'],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj/, 'blk.$1.ffn_$2'],
  [/^model\.layers\.(\d+)\.input_layernorm/, 'blk.$1.attn_norm'],
  [/^model\.layers\.(\d+)\.post_attention_layernorm/, 'blk.$1.ffn_norm'],
];

/** A tensor of the file and the weights it is made of, one below the other. */
interface Entry {
  readonly name: string;
  readonly from: readonly string[];
  readonly sizes: readonly number[];
  readonly format: Format;
}

function entries(weights: FloatWeights, names: readonly string[], format: Format): Entry[] {
  const learned = weights.config.positions.kind === 'learned';
  const made: Entry[] = [];
  for (const from of names) {
    // GPT-2's files have query, key and value in one.
    const joined = learned ? /^(.*\.)q_proj(\..*)$/.exec(from) : null;
    if (learned && /\.[kv]_proj\./.test(from)) continue;
    const all = joined ? ['q', 'k', 'v'].map((n) => `${joined[1]!}${n}_proj${joined[2]!}`) : [from];
    const [pattern, text] = NAMES.find(([each]) => each.test(from))!;
    const name = from.replace(pattern, text).replace(joined ? 'attn_q' : '\0', 'attn_qkv');
    const [rows, ...rest] = weights.sizes(from) as [number, ...number[]];
    const isMatrix = rest.length > 0 && !name.startsWith('position');
    made.push({
      name,
      from: all,
      sizes: [rows * all.length, ...rest],
      format: isMatrix ? format : 'float32',
    });
  }
  return made;
}

/** Halves of each head's rows → neighbours, as files of Llama have them. */
function paired(values: Float32Array, rows: number, headDim: number): Float32Array {
  const columns = values.length / rows;
  const out = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const at = row % headDim;
    const from = row - at + Math.floor(at / 2) + (at % 2) * (headDim / 2);
    out.set(values.subarray(from * columns, (from + 1) * columns), row * columns);
  }
  return out;
}

/** Blocks of 32 with a 16-bit scale each. */
function blocks(values: Float32Array, bits: 4 | 8): Uint8Array {
  const { wholes, scales } = toBlocks(values, bits, BLOCK);
  const halves = toHalves(scales);
  const size = TYPES[bits === 8 ? 'int8' : 'int4'].bytes;
  const out = new Uint8Array(scales.length * size);
  for (let block = 0; block < scales.length; block++) {
    const [at, from] = [block * size, block * BLOCK];
    out[at] = halves[2 * block]!;
    out[at + 1] = halves[2 * block + 1]!;
    for (let i = 0; i < size - 2; i++)
      out[at + 2 + i] =
        bits === 8
          ? wholes[from + i]! - 128
          : wholes[from + i]! | (wholes[from + i + BLOCK / 2]! << 4);
  }
  return out;
}

function bytesIn(format: Format, values: Float32Array): Uint8Array {
  if (format === 'float32') return bytesOf(values);
  if (format === 'float16') return toHalves(values);
  return blocks(values, format === 'int8' ? 8 : 4);
}

function describe(header: GgufHeader, config: DecoderConfig): string {
  const { attention, feedForward, norm, positions } = config;
  const architecture = positions.kind === 'learned' ? 'gpt2' : 'llama';
  header.text('general.architecture', architecture);
  const whole = (name: string, value: number): void =>
    header.whole(`${architecture}.${name}`, value);
  whole('embedding_length', config.width);
  whole('feed_forward_length', feedForward.width);
  whole('block_count', config.layers);
  whole('attention.head_count', attention.heads);
  whole('attention.head_count_kv', attention.kvHeads);
  whole('context_length', config.maxPositions);
  const epsilon = norm.kind === 'layer' ? 'layer_norm_epsilon' : 'layer_norm_rms_epsilon';
  header.float(`${architecture}.attention.${epsilon}`, norm.eps);
  if (positions.kind === 'rotary') {
    whole('rope.dimension_count', positions.dims);
    header.float('llama.rope.freq_base', positions.theta);
  }
  header.text('tokenizer.ggml.model', 'gpt2');
  header.text('tokenizer.ggml.pre', 'gpt-2');
  header.texts(
    'tokenizer.ggml.tokens',
    Array.from({ length: config.vocabSize }, (_, i) => `t${i}`),
  );
  header.texts('tokenizer.ggml.merges', []);
  header.whole('tokenizer.ggml.bos_token_id', 0);
  header.whole('tokenizer.ggml.eos_token_id', 0);
  return architecture;
}

/** See the file header. Returns the bytes of the weights that a token reads. */
export function decoderGguf(weights: FloatWeights, format: Format, file: ByteFile): number {
  const { config } = weights;
  const names = weights.names().filter((name) => !(config.tied && name.startsWith('lm_head')));
  const tensors = entries(weights, names, format);
  const header = new GgufHeader();
  const architecture = describe(header, config);
  const lengths = tensors.map(
    ({ sizes, format: own }) => (sizes.reduce((a, b) => a * b) / BLOCK) * TYPES[own].bytes,
  );
  tensors.forEach(({ name, sizes, format: own }, i) =>
    header.tensor(name, sizes, TYPES[own].code, lengths[i]!),
  );
  file.add(header.finish());
  let read = 0;
  for (const [i, { name, from, sizes, format: own }] of tensors.entries()) {
    file.align(GgufHeader.ALIGNMENT);
    let values = weights.values(...from);
    if (architecture === 'llama' && /attn_[qk]\./.test(name))
      values = paired(values, sizes[0]!, config.attention.headDim);
    file.add(bytesIn(own, values));
    if (!name.startsWith('position')) read += lengths[i]!;
  }
  file.align(GgufHeader.ALIGNMENT);
  return read;
}
