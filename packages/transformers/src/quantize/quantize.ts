/**
 * @file `quantize`: the linear maps and tables of a model, with weights of 8 or 4 bits.
 */
import { Embedding, Linear, type Module } from '@tessera/nn';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { replaceLayer } from '../model/replace-layer.js';
import { type QuantizeFormat, isFormat } from './pack-weight.js';
import { QuantizedEmbedding } from './quantized-embedding.js';
import { QuantizedLinear } from './quantized-linear.js';

/** What `quantize` does. */
export type QuantizeOptions = QuantizeFormat & {
  /** Which layers, by their dotted names; default: all that the format fits. */
  readonly filter?: (name: string) => boolean;
  /**
   * How tables of embeddings are stored; default: as they are. In models with tied weights the table is the last map
   * too, and often a large part of all weights; it takes 8 bits well.
   */
  readonly embeddings?: QuantizeFormat;
};

/** What became of one layer. */
export interface QuantizedLayer {
  readonly name: string;
  /** ‖W - dequantized‖ / ‖W‖. */
  readonly error: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** What became of a model. */
export interface QuantizeReport {
  readonly layers: readonly QuantizedLayer[];
  /** Layers that stay as they are: their rows are no whole groups. */
  readonly skipped: readonly string[];
}

const NAMES: OptionNames<Extract<QuantizeOptions, { bits: 4 }>> = {
  bits: true,
  group: true,
  filter: true,
  embeddings: true,
};

/** @throws invalid-argument */
function checkFormats(options: QuantizeOptions): void {
  checkOptionNames('quantize', options ?? {}, NAMES);
  const { embeddings, filter: _, ...format } = options ?? {};
  for (const each of [format, embeddings ?? format])
    if (!isFormat(each)) {
      throw new TesseraError(
        'invalid-argument',
        `quantize: ${JSON.stringify(each)} is no format.`,
        {
          hints: [
            '{ bits: 8 }, { bits: 8, group: 32 } or { bits: 4, group: 32 }; groups are of 32, 64 or 128 columns, with 8 bits of 16 too.',
          ],
        },
      );
    }
}

/** A layer and the format that it is to have. */
interface Candidate {
  readonly name: string;
  readonly layer: Linear | Embedding;
  readonly format: QuantizeFormat;
}

function formatOf(layer: Linear | Embedding, options: QuantizeOptions): QuantizeFormat | null {
  if (layer instanceof Embedding)
    return layer.maxNorm === null ? (options.embeddings ?? null) : null;
  const { bits, group } = options;
  return bits === 8 && group === undefined ? { bits } : ({ bits, group } as QuantizeFormat);
}

/** Layers that are asked for: those that their format fits, and the names of those that it does not. */
function candidates(
  model: Module,
  options: QuantizeOptions,
): { fitting: Candidate[]; skipped: string[] } {
  const { filter = () => true } = options;
  const all = model.namedModules().flatMap(([name, layer]): Candidate[] => {
    if (!(layer instanceof Linear || layer instanceof Embedding)) return [];
    const format = formatOf(layer, options);
    return name !== '' && format !== null && filter(name) ? [{ name, layer, format }] : [];
  });
  const fits = ({ layer, format: { group = 1 } }: Candidate): boolean =>
    layer.weight.size(1) % group === 0;
  return {
    fitting: all.filter(fits),
    skipped: all.filter((entry) => !fits(entry)).map(({ name }) => name),
  };
}

/** Gives back the memory of a weight that no other layer has. */
function release(model: Module, weight: Tensor): void {
  const isShared = model.parameters().some(({ storage }) => storage === weight.storage);
  if (!isShared) weight.dispose();
}

/**
 * Rounds the weights of a model's linear maps, and of its tables if `embeddings` says how, in place: each becomes a
 * `QuantizedLinear` or a `QuantizedEmbedding`. Norms and biases stay. One float weight at a time is in memory beside the
 * packed ones; its memory is given back, unless another layer shares it.
 *
 * @throws invalid-argument
 * @example
 * const { layers } = await quantize(model, { bits: 4, group: 64, embeddings: { bits: 8 } });
 */
export async function quantize(model: Module, options: QuantizeOptions): Promise<QuantizeReport> {
  checkFormats(options);
  const { fitting, skipped } = candidates(model, options);
  const layers: QuantizedLayer[] = [];
  for (const { name, layer, format } of fitting) {
    const { module, error } =
      layer instanceof Linear
        ? await QuantizedLinear.of(layer, format)
        : await QuantizedEmbedding.of(layer, format);
    replaceLayer(model, name, module);
    const bytesBefore = layer.weight.storage.nbytes;
    release(model, layer.weight);
    layers.push({ name, error, bytesBefore, bytesAfter: module.weightBytes });
  }
  return { layers, skipped };
}

/**
 * Makes a model take the state of a quantized one: its layers become quantized ones of the format, with nothing in them,
 * to be filled by `loadStateDict`.
 *
 * @throws invalid-argument
 * @example
 * makeQuantized(model, { bits: 8 });
 * model.loadStateDict(await loadCheckpoint('quantized.safetensors'));
 */
export function makeQuantized(model: Module, options: QuantizeOptions): void {
  checkFormats(options);
  for (const { name, layer, format } of candidates(model, options).fitting) {
    const empty =
      layer instanceof Linear
        ? QuantizedLinear.like(layer, format)
        : QuantizedEmbedding.like(layer, format);
    replaceLayer(model, name, empty);
    release(model, layer.weight);
  }
}
