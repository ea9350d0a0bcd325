/**
 * @file `addLora` and what goes with it: adapters of low rank for the linear maps of a model.
 */
import { Linear, type Module } from '@tessera/nn';
import { TesseraError } from '@tessera/shared';
import { replaceLayer } from '../model/replace-layer.js';
import { QuantizedLinear } from '../quantize/quantized-linear.js';
import { LoraLinear } from './lora-linear.js';

/** What `addLora` takes. */
export interface LoraOptions {
  /** Rank of the change of a weight (default 8). */
  readonly rank?: number;
  /** Ends of the names of layers that get one (default `q_proj` and `v_proj`). */
  readonly targets?: readonly string[];
  /** The change counts alpha / rank (default 2 · rank). */
  readonly alpha?: number;
}

/** Whether a dotted name is a target or ends with one. */
const isNamed = (name: string, targets: readonly string[]): boolean =>
  targets.some((target) => name === target || name.endsWith(`.${target}`));

/** Adapters of a model with the names of the layers that they are in. */
export function adaptersOf(model: Module): [string, LoraLinear][] {
  return model
    .namedModules()
    .filter((entry): entry is [string, LoraLinear] => entry[1] instanceof LoraLinear);
}

/**
 * Freezes a model and gives its targets adapters, in place: those alone train. Layers may be quantized (QLoRA).
 * Returns the names of the targets.
 *
 * @throws invalid-argument when no layer has one of the names, or the model has adapters
 * @example
 * addLora(model, { rank: 8, targets: ['q_proj', 'v_proj'] });
 * const optimizer = new AdamW(model.parameters().filter((p) => p.requiresGrad), { lr: 1e-3 });
 */
export function addLora(
  model: Module,
  { rank = 8, targets = ['q_proj', 'v_proj'], alpha = 2 * rank }: LoraOptions = {},
): string[] {
  if (!(Number.isInteger(rank) && rank >= 1))
    throw new TesseraError(
      'invalid-argument',
      `addLora: rank is ${rank}, not a whole number from 1.`,
    );
  if (adaptersOf(model).length > 0)
    throw new TesseraError('invalid-argument', 'addLora: the model has adapters already.', {
      hints: ['Train or load those, or take them out: removeLora(model).'],
    });
  const layers = model
    .namedModules()
    .filter(
      (entry): entry is [string, Linear | QuantizedLinear] =>
        entry[1] instanceof Linear || entry[1] instanceof QuantizedLinear,
    );
  const chosen = layers.filter(([name]) => name !== '' && isNamed(name, targets));
  if (chosen.length === 0)
    throw new TesseraError(
      'invalid-argument',
      `addLora: no linear map is called ${targets.join(' or ')}.`,
      {
        hints: [
          `There are: ${[...new Set(layers.map(([name]) => name.split('.').at(-1)))].join(', ')}.`,
        ],
      },
    );
  model.requiresGrad_(false);
  for (const [name, layer] of chosen)
    replaceLayer(model, name, new LoraLinear(layer, rank, alpha).train(layer.training));
  return chosen.map(([name]) => name);
}

/** Adds the adapters' changes to the weights: calls cost what they did before. @throws invalid-argument */
export function mergeLora(model: Module): void {
  for (const [, adapter] of adaptersOf(model)) adapter.merge(true);
}

/** Takes the changes off the weights again, to rounding. */
export function unmergeLora(model: Module): void {
  for (const [, adapter] of adaptersOf(model)) adapter.merge(false);
}

/** Takes the adapters out: what is merged stays in the weights, what is not is gone. */
export function removeLora(model: Module): void {
  for (const [name, adapter] of adaptersOf(model)) replaceLayer(model, name, adapter.base);
}
