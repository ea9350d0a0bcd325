/**
 * @file A decoder as an ONNX model, in the form that exporters for ONNX Runtime give it: fused operators of its own,
 * past keys and values as inputs and present ones as outputs, the weights in a file beside.
 */
import type { DecoderConfig } from '@tessera/transformers';
import { OnnxGraph, type OnnxType } from '../../onnx/onnx-graph.js';
import { type Format, GROUP } from '../formats.js';
import type { ByteFile } from './byte-file.js';
import { type FloatWeights, bytesOf, toHalves } from './float-weights.js';
import { inPairs, toBlocks } from './weight-blocks.js';

/** A model and what calls need to know of it. */
export interface OnnxDecoder {
  readonly bytes: Uint8Array;
  /** Type of keys, values and logits. */
  readonly floats: OnnxType;
  /** Bytes of the weights that a token reads. */
  readonly weightBytes: number;
}

/** Files begin tensors at multiples of this. */
const ALIGNMENT = 64;

/** What of int8 activations ONNX Runtime may use for weights of four bits: the level that exporters set for CPUs. */
const INT8_ACTIVATIONS = 4;

/** Writes one decoder. */
class DecoderWriter {
  readonly graph = new OnnxGraph();
  readonly floats: OnnxType;
  weightBytes = 0;

  constructor(
    readonly weights: FloatWeights,
    readonly format: Format,
    readonly file: ByteFile,
    readonly location: string,
  ) {
    this.floats = format === 'float16' ? 'float16' : 'float32';
  }

  /** Puts a tensor into the file. `read` is how many of its bytes a token reads, if not all. */
  bytes(type: OnnxType, shape: readonly number[], bytes: Uint8Array, read = bytes.length): string {
    const offset = this.file.align(ALIGNMENT);
    this.file.add(bytes);
    this.weightBytes += read;
    const place = { location: this.location, offset, length: bytes.length };
    return this.graph.tensor(type, shape, place);
  }

  /** A tensor of floats in the type of the model. */
  dense(values: Float32Array, shape: readonly number[], read?: number): string {
    const bytes = this.floats === 'float16' ? toHalves(values) : bytesOf(values);
    return this.bytes(this.floats, shape, bytes, read);
  }

  vector(name: string): string {
    return this.dense(this.weights.values(name), this.weights.sizes(name));
  }

  /** x @ Wᵀ with the rows of several weights below each other, and their biases. */
  linear(x: string, ...names: readonly string[]): string {
    const { graph, weights } = this;
    const values = weights.values(...names.map((name) => `${name}.weight`));
    const columns = weights.sizes(`${names[0]!}.weight`)[1]!;
    const y = this.product(x, values, values.length / columns, columns);
    const biases = names.map((name) => `${name}.bias`).filter((name) => weights.has(name));
    if (biases.length === 0) return y;
    const bias = weights.values(...biases);
    return graph.node('Add', [y, this.dense(bias, [bias.length])]);
  }

  product(x: string, values: Float32Array, rows: number, columns: number): string {
    const { graph, format } = this;
    if (format === 'float32' || format === 'float16') {
      const weight = this.dense(transposed(values, rows, columns), [columns, rows]);
      return graph.node('MatMul', [x, weight]);
    }
    const bits = format === 'int8' ? 8 : 4;
    const { wholes, scales } = toBlocks(values, bits, GROUP);
    const blocks = columns / GROUP;
    const packed = bits === 8 ? wholes : inPairs(wholes);
    return graph.node(
      'com.microsoft:MatMulNBits',
      [
        x,
        this.bytes('uint8', [rows, blocks, (GROUP * bits) / 8], packed),
        this.bytes('float32', [rows * blocks], bytesOf(scales)),
      ],
      { K: columns, N: rows, bits, block_size: GROUP, accuracy_level: INT8_ACTIVATIONS },
    );
  }

  /** The sum of both, and its norm. */
  norm(x: string, skip: string | null, name: string): { sum: string; y: string } {
    const { graph, weights } = this;
    const { kind, eps } = weights.config.norm;
    const [y, sum] = [graph.value(), graph.value()];
    const gamma = this.vector(`${name}.weight`);
    const beta = weights.has(`${name}.bias`) ? [this.vector(`${name}.bias`)] : [];
    const epsilon = { epsilon: { float: eps } };
    if (skip === null) {
      const type = kind === 'layer' ? 'LayerNormalization' : 'SimplifiedLayerNormalization';
      graph.nodes(type, [x, gamma, ...beta], { axis: -1, ...epsilon }, [y]);
      return { sum: x, y };
    }
    const type = kind === 'layer' ? 'SkipLayerNormalization' : 'SkipSimplifiedLayerNormalization';
    graph.nodes(`com.microsoft:${type}`, [x, skip, gamma, ...beta], epsilon, [y, '', '', sum]);
    return { sum, y };
  }
}

/** Tiles keep both sides in the nearest cache. */
function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const out = new Float32Array(values.length);
  const tile = 32;
  for (let r = 0; r < rows; r += tile)
    for (let c = 0; c < columns; c += tile)
      for (let i = r; i < Math.min(r + tile, rows); i++)
        for (let j = c; j < Math.min(c + tile, columns); j++)
          out[j * rows + i] = values[i * columns + j]!;
  return out;
}

/** Cosines and sines of all positions, [positions, dims / 2] each. */
function rotations({ positions, maxPositions }: DecoderConfig): Float32Array[] {
  if (positions.kind !== 'rotary') return [];
  const half = positions.dims / 2;
  const angle = (i: number): number =>
    Math.floor(i / half) * positions.theta ** ((-2 * (i % half)) / positions.dims);
  return [Math.cos, Math.sin].map((f) =>
    Float32Array.from({ length: maxPositions * half }, (_, i) => f(angle(i))),
  );
}

function activated(w: DecoderWriter, x: string, layer: string): string {
  const { gated, activation } = w.weights.config.feedForward;
  const { graph } = w;
  if (!gated) {
    const up = w.linear(x, `${layer}.mlp.up_proj`);
    if (activation !== 'gelu_tanh') throw new Error(`no ONNX for ${activation}`);
    return graph.node('com.microsoft:FastGelu', [up]);
  }
  const gate = w.linear(x, `${layer}.mlp.gate_proj`);
  const silu = graph.node('Mul', [gate, graph.node('Sigmoid', [gate])]);
  return graph.node('Mul', [silu, w.linear(x, `${layer}.mlp.up_proj`)]);
}

/** See the file header. */
export function decoderOnnx(
  weights: FloatWeights,
  format: Format,
  file: ByteFile,
  location: string,
): OnnxDecoder {
  const w = new DecoderWriter(weights, format, file, location);
  const { graph, floats } = w;
  const { config } = weights;
  const { heads, kvHeads, headDim, scale } = config.attention;
  const ids = graph.input('input_ids', [1, 'T'], 'int64');
  const last = graph.input('last', [1], 'int64');
  const seen = graph.input('seqlens_k', [1], 'int32');
  const total = graph.input('total_length', [], 'int32');
  const [V, W] = [config.vocabSize, config.width];
  const tableValues = weights.values('model.embed_tokens.weight');
  // A token reads one row of it here; the output layer has the table in a form of its own.
  const table = w.dense(tableValues, [V, W], 0);
  let x = graph.node('Gather', [table, ids]);
  if (config.positions.kind === 'learned') {
    const positions = graph.input('position_ids', [1, 'T'], 'int64');
    const rows = weights.values('model.embed_positions.weight');
    const learned = w.dense(rows, [rows.length / W, W], 0);
    x = graph.node('Add', [x, graph.node('Gather', [learned, positions])]);
  }
  const turns: string[] = [];
  for (const values of rotations(config))
    turns.push(w.dense(values, [config.maxPositions, values.length / config.maxPositions], 0));
  const cache = (length: string): (string | number)[] => [1, kvHeads, length, headDim];
  let skip: string | null = null;
  for (let i = 0; i < config.layers; i++) {
    const layer = `model.layers.${i}`;
    const before = w.norm(x, skip, `${layer}.input_layernorm`);
    const names = ['q', 'k', 'v'].map((name) => `${layer}.self_attn.${name}_proj`);
    const qkv = w.linear(before.y, ...names);
    const past = ['key', 'value'].map((kind) =>
      graph.input(`past.${i}.${kind}`, cache('P'), floats),
    );
    const present = ['key', 'value'].map((kind) => `present.${i}.${kind}`);
    const attended = graph.value();
    graph.nodes(
      'com.microsoft:GroupQueryAttention',
      [qkv, '', '', ...past, seen, total, ...turns],
      {
        num_heads: heads,
        kv_num_heads: kvHeads,
        do_rotary: turns.length > 0 ? 1 : 0,
        scale: { float: scale },
      },
      [attended, ...present],
    );
    for (const name of present) graph.output(name, cache('S'), floats);
    const out = w.linear(attended, `${layer}.self_attn.o_proj`);
    const between = w.norm(before.sum, out, `${layer}.post_attention_layernorm`);
    x = between.sum;
    skip = w.linear(activated(w, between.y, layer), `${layer}.mlp.down_proj`);
  }
  const { y } = w.norm(x, skip, 'model.norm');
  const hidden = graph.node('Gather', [y, last], { axis: 1 });
  const output = config.tied ? tableValues : weights.values('lm_head.weight');
  const logits = w.product(hidden, output, V, W);
  graph.node('Identity', [logits], {}, 'logits');
  graph.output('logits', [1, 1, V], floats);
  return { bytes: graph.toBytes(), floats, weightBytes: w.weightBytes };
}
