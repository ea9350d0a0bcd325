/**
 * @file `quantize`: the linear maps of a model, with weights of 8 or 4 bits.
 */
import { Linear, type Module } from '@tessera/nn';
import { TesseraError } from '@tessera/shared';
import { replaceLayer } from '../model/replace-layer.js';
import { type QuantizeFormat } from './pack-weight.js';
import { QuantizedLinear } from './quantized-linear.js';

/** What `quantize` does. */
export type QuantizeOptions = QuantizeFormat & {
  /** Which layers, by their dotted names; default: all linear maps that the format fits. */
  readonly filter?: (name: string) => boolean;
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
  /** Linear maps that stay as they are: their rows are no whole groups. */
  readonly skipped: readonly string[];
}

/** @throws invalid-argument */
function checkFormat(format: QuantizeFormat): void {
  const isFine = format.bits === 8 || (format.bits === 4 && [32, 64, 128].includes(format.group));
  if (isFine) return;
  throw new TesseraError('invalid-argument', `quantize: ${JSON.stringify(format)} is no format.`, {
    hints: ['{ bits: 8 }, or { bits: 4, group: 32 }; groups are of 32, 64 or 128 columns.'],
  });
}

/** Plain linear maps that are asked for, those that the format fits, and those that it does not. */
function candidates(
  model: Module,
  options: QuantizeOptions,
): { fitting: [string, Linear][]; skipped: string[] } {
  const { filter = () => true } = options;
  const found = model
    .namedModules()
    .filter((entry): entry is [string, Linear] => entry[1] instanceof Linear)
    .filter(([name]) => name !== '' && filter(name));
  const fits = ([, { inFeatures }]: [string, Linear]): boolean =>
    options.bits === 8 || inFeatures % options.group === 0;
  return {
    fitting: found.filter(fits),
    skipped: found.filter((entry) => !fits(entry)).map(([name]) => name),
  };
}

/**
 * Rounds the weights of a model's linear maps, in place: each becomes a `QuantizedLinear`. Embeddings, norms and biases
 * stay. One float weight at a time is in memory beside the packed ones; its memory is given back.
 *
 * @throws invalid-argument
 * @example const { layers } = await quantize(model, { bits: 4, group: 64 });
 */
export async function quantize(model: Module, options: QuantizeOptions): Promise<QuantizeReport> {
  checkFormat(options);
  const { fitting, skipped } = candidates(model, options);
  const format = formatOf(options);
  const layers: QuantizedLayer[] = [];
  for (const [name, linear] of fitting) {
    const { module, error } = await QuantizedLinear.of(linear, format);
    replaceLayer(model, name, module);
    const bytesBefore = linear.weight.storage.nbytes;
    linear.weight.dispose();
    layers.push({ name, error, bytesBefore, bytesAfter: module.weightBytes });
  }
  return { layers, skipped };
}

function formatOf(options: QuantizeOptions): QuantizeFormat {
  return options.bits === 8 ? { bits: 8 } : { bits: 4, group: options.group };
}

/**
 * Makes a model take the state of a quantized one: its linear maps become `QuantizedLinear`s of the format, with
 * nothing in them, to be filled by `loadStateDict`.
 *
 * @throws invalid-argument
 * @example
 * makeQuantized(model, { bits: 8 });
 * model.loadStateDict(await loadCheckpoint('quantized.safetensors'));
 */
export function makeQuantized(model: Module, options: QuantizeOptions): void {
  checkFormat(options);
  for (const [name, linear] of candidates(model, options).fitting) {
    const empty = QuantizedLinear.like(linear, formatOf(options)).train(linear.training);
    replaceLayer(model, name, empty);
    linear.weight.dispose();
  }
}
