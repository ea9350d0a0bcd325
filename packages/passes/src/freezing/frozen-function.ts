/**
 * @file `freezeFunction`: a graph whose parameters are constants while they stay what they are.
 *
 * Freezing needs values, so it happens at the first call. Later calls compare which memory each frozen
 * input has and its version: a parameter that was replaced or changed in place leads to another frozen
 * graph, never to a stale result. After several of these the graph runs with its parameters as inputs.
 */
import type { GraphModule } from '@tessera/graph';
import { counters } from '@tessera/shared';
import type { Storage, Tensor } from '@tessera/tensor';
import { requestDiscard } from './discard.js';
import { freezableInputs, freezeInputs } from './freeze-inputs.js';

/** Values of the placeholders in, values of the output list out. */
export type GraphFunction = (inputs: readonly unknown[]) => readonly unknown[];

/** How to freeze. */
export interface FreezeOptions {
  /** Which inputs are constants: parameters and buffers. */
  readonly isConstant: (tensor: Tensor) => boolean;
  /** Release parameters once they are frozen. */
  readonly discard: boolean;
  /** Compiles a frozen graph. */
  readonly compile: (module: GraphModule) => GraphFunction;
  /** Compiles a graph without constants. */
  readonly compilePlain: (module: GraphModule) => GraphFunction;
}

/** Frozen graphs of one graph before it runs unfrozen. */
const MOST_VARIANTS = 4;

interface FrozenInput {
  readonly position: number;
  storage: Storage;
  version: number;
}

interface Variant {
  readonly frozen: readonly FrozenInput[];
  /** Positions of the inputs that are left. */
  readonly rest: readonly number[];
  readonly run: GraphFunction;
}

/** See the file header. */
export function freezeFunction(module: GraphModule, options: FreezeOptions): GraphFunction {
  const variants: Variant[] = [];
  let plain: GraphFunction | null = null;
  return (inputs) => {
    for (const variant of variants)
      if (fits(variant, inputs)) return variant.run(variant.rest.map((i) => inputs[i]));
    if (variants.length === MOST_VARIANTS) return (plain ??= options.compilePlain(module))(inputs);
    const variant = makeVariant(module, inputs, options);
    variants.push(variant);
    return variant.run(variant.rest.map((i) => inputs[i]));
  };
}

function fits({ frozen }: Variant, inputs: readonly unknown[]): boolean {
  for (const { position, storage, version } of frozen) {
    const now = (inputs[position] as Tensor).storage;
    if (now !== storage || now.version !== version) return false;
  }
  return true;
}

function makeVariant(
  module: GraphModule,
  inputs: readonly unknown[],
  options: FreezeOptions,
): Variant {
  const { placeholders } = module.graph;
  const freezable = freezableInputs(module, inputs, options.isConstant);
  for (const { tensor } of freezable) tensor.storage.assertReadable('freezing');
  counters.inc('inductor', 'frozen_inputs', freezable.length);
  const isFrozen = new Set(freezable.map(({ position }) => position));
  const frozen = freezable.map(({ position, tensor: { storage } }): FrozenInput => ({
    position,
    storage,
    version: storage.version,
  }));
  const variant: Variant = {
    frozen,
    rest: placeholders.flatMap((_, i) => (isFrozen.has(i) ? [] : [i])),
    run: options.compile(freezeInputs(module, freezable)),
  };
  if (!options.discard) return variant;
  for (const [i, input] of frozen.entries()) {
    const { name, meta } = placeholders[input.position]!;
    if (meta.returned === true) continue;
    requestDiscard(freezable[i]!.tensor, meta.source ?? name, ({ storage }) => {
      input.storage = storage;
      input.version = storage.version;
    });
  }
  return variant;
}
