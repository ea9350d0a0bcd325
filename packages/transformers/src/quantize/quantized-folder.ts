/**
 * @file Quantized models as folders: `quantization_config` in `config.json`, and weights in the decoder's own names.
 *
 * Which layers are quantized, and how, the tensors themselves say: a layer that is has `scales` beside its weight,
 * whose sizes tell the format. So layers of one model may have several formats.
 */
import { Embedding, Linear, type Module, skipInit } from '@tessera/nn';
import { TesseraError } from '@tessera/shared';
import { type DType, type Tensor, isFloatingPoint } from '@tessera/tensor';
import type { JsonConfig } from '../config/json-config.js';
import { replaceLayer } from '../model/replace-layer.js';
import { type QuantizeFormat, isFormat } from './pack-weight.js';
import { QuantizedEmbedding } from './quantized-embedding.js';
import { QuantizedLinear } from './quantized-linear.js';

const FIELD = 'quantization_config';
const METHOD = 'tessera';

/** What `config.json` is to say of a model; null if no layer of it is quantized. */
export function quantizationOf(model: Module): Readonly<Record<string, unknown>> | null {
  const formats = model
    .modules()
    .flatMap((module) =>
      module instanceof QuantizedLinear || module instanceof QuantizedEmbedding
        ? [module.format]
        : [],
    );
  if (formats.length === 0) return null;
  const distinct = [...new Set(formats.map((format) => JSON.stringify(format)))];
  return { quant_method: METHOD, formats: distinct.map((format): object => JSON.parse(format)) };
}

/** Whether a folder is one of `saveCausalLM`'s quantized ones. @throws model-unsupported for another method */
export function isQuantized(json: JsonConfig): boolean {
  const method = json.inner(FIELD).text('quant_method', '');
  if (method === '' || method === METHOD) return method !== '';
  throw new TesseraError('model-unsupported', `The weights are quantized by '${method}'.`, {
    context: { method },
    hints: ['Take the folder of the float model, and quantize(model, { bits: 4, group: 64 }).'],
  });
}

/** The type of what is no packed weight. */
function floatDType(state: Readonly<Record<string, Tensor>>): DType {
  const entries = Object.entries(state);
  const found = entries.find(
    ([name, { dtype }]) => isFloatingPoint(dtype) && !name.endsWith('.scales'),
  );
  return found?.[1].dtype ?? 'float32';
}

/**
 * Makes linear maps and tables take the packed weights that a state has for them, without memory of their own.
 *
 * @throws model-invalid
 */
export function quantizeLike(model: Module, state: Readonly<Record<string, Tensor>>): void {
  const dtype = floatDType(state);
  for (const [name, layer] of model.namedModules()) {
    const scales = state[`${name}.scales`];
    if (scales === undefined) continue;
    let made: (() => Module) | null = null;
    if (layer instanceof Linear)
      made = () => QuantizedLinear.like(layer, formatOf(name, layer.inFeatures, scales));
    if (layer instanceof Embedding)
      made = () =>
        QuantizedEmbedding.like(layer, formatOf(name, layer.embeddingDim, scales), dtype);
    if (made !== null) replaceLayer(model, name, skipInit(made));
  }
}

function formatOf(name: string, columns: number, scales: Tensor): QuantizeFormat {
  if (scales.ndim === 1) return { bits: 8 };
  const format = { bits: scales.ndim === 2 ? 8 : 4, group: columns / scales.size(0) };
  if (isFormat(format)) return format;
  throw new TesseraError('model-invalid', `${name}.scales fit no format of weights.`, {
    context: { name, sizes: scales.sizes },
    hints: ['Quantize the model again with quantize(), and save it with saveCausalLM().'],
  });
}
