/**
 * @file `FloatWeights`: random float32 weights of a decoder by name, outside of any engine's memory.
 */
import { skipInit } from '@tessera/nn';
import { type Tensor, fromTypedArray } from '@tessera/tensor';
import { numberToHalf } from '@tessera/tensor/internal';
import { CausalLM, type DecoderConfig } from '@tessera/transformers';
import { uniforms } from '../../harness/seeded.js';

interface Weight {
  readonly sizes: readonly number[];
  readonly values: Float32Array;
}

/** Of matrices: a deviation of 0.02. */
const RANGE = 0.02 * Math.sqrt(12);

/** A model whose weights are still to be set. */
const emptyModel = (config: DecoderConfig): CausalLM => skipInit(() => new CausalLM(config));

/** See the file header. */
export class FloatWeights {
  private constructor(
    readonly config: DecoderConfig,
    private readonly weights: ReadonlyMap<string, Weight>,
  ) {}

  /**
   * Random matrices as GPT-2 began with, tables included, so that logits are close to each other. A model would draw its
   * own by operators, which takes a minute.
   */
  static random(config: DecoderConfig, seed: number): FloatWeights {
    const next = uniforms(seed);
    const weights = new Map<string, Weight>();
    for (const [name, tensor] of Object.entries(emptyModel(config).stateDict())) {
      const { sizes, numel } = tensor;
      const values = new Float32Array(numel);
      if (sizes.length > 1) for (let i = 0; i < numel; i++) values[i] = (next() - 0.5) * RANGE;
      else values.fill(name.endsWith('weight') ? 1 : 0);
      weights.set(name, { sizes, values });
    }
    return new FloatWeights(config, weights);
  }

  names(): string[] {
    return [...this.weights.keys()];
  }

  has(name: string): boolean {
    return this.weights.has(name);
  }

  sizes(name: string): readonly number[] {
    return this.weights.get(name)!.sizes;
  }

  /** The values of one weight, or of several, one below the other. They are not to be changed. */
  values(...names: readonly string[]): Float32Array {
    const parts = names.map((name) => this.weights.get(name)!.values);
    if (parts.length === 1) return parts[0]!;
    const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  /** A model with these weights. */
  toModel(): CausalLM {
    const model = emptyModel(this.config);
    const tensors = [...this.weights].map(([name, { sizes, values }]): [string, Tensor] => [
      name,
      fromTypedArray(values, sizes),
    ]);
    model.loadStateDict(Object.fromEntries(tensors), { assign: true });
    return model.eval();
  }
}

/** The bits of 16-bit floats. */
export function toHalves(values: Float32Array): Uint8Array {
  return new Uint8Array(Uint16Array.from(values, numberToHalf).buffer);
}

/** The bytes of an array. */
export function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
