/**
 * @file `addLora` and what goes with it: adapters of low rank for the linear maps of a model.
 */
import { Linear, type Module } from '@tessera/nn';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { checkSizes } from '../check-sizes.js';
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

const NAMES: OptionNames<LoraOptions> = { rank: true, targets: true, alpha: true };

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
export function addLora(model: Module, options: LoraOptions = {}): string[] {
  checkOptionNames('addLora', options, NAMES);
  const { rank = 8, targets = ['q_proj', 'v_proj'], alpha = 2 * rank } = options;
  checkSizes('addLora', { rank });
  if (!Number.isFinite(alpha))
    throw new TesseraError('invalid-argument', `addLora: alpha is ${alpha}, not a number.`);
  if (!Array.isArray(targets))
    throw new TesseraError('invalid-argument', 'addLora: targets are no list of names.', {
      hints: ["Give ends of the names of layers: { targets: ['q_proj', 'v_proj'] }."],
    });
  refuseAdapters('addLora', model);
  const layers = linearLayers(model);
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
  return addAdapters(model, new Map(chosen.map(([name]) => [name, { rank, alpha }])));
}

/** Freezes a model and gives layers adapters of a rank and an alpha each. Returns the names of the layers. */
export function addAdapters(
  model: Module,
  shapes: ReadonlyMap<string, { readonly rank: number; readonly alpha: number }>,
): string[] {
  const chosen = linearLayers(model).filter(([name]) => shapes.has(name));
  model.requiresGrad_(false);
  for (const [name, layer] of chosen) {
    const { rank, alpha } = shapes.get(name)!;
    replaceLayer(model, name, new LoraLinear(layer, rank, alpha).train(layer.training));
  }
  return chosen.map(([name]) => name);
}

/** Linear maps of a model, those inside of adapters too, with their names. */
export function linearLayers(model: Module): [string, Linear | QuantizedLinear][] {
  return model
    .namedModules()
    .filter(
      (entry): entry is [string, Linear | QuantizedLinear] =>
        entry[1] instanceof Linear || entry[1] instanceof QuantizedLinear,
    );
}

/** @throws invalid-argument */
export function refuseAdapters(owner: string, model: Module): void {
  if (adaptersOf(model).length === 0) return;
  throw new TesseraError('invalid-argument', `${owner}: the model has adapters already.`, {
    hints: ['Train or load those, or take them out: removeLora(model).'],
  });
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
