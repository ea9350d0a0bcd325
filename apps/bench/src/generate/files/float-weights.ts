/**
 * @file `FloatWeights`: random float32 weights of a decoder by name, outside of any engine's memory.
 */
import { cpuHeap, fromTypedArray, manualSeed } from '@tessera/tensor';
import { numberToHalf } from '@tessera/tensor/internal';
import { CausalLM, type DecoderConfig } from '@tessera/transformers';

interface Weight {
  readonly sizes: readonly number[];
  readonly values: Float32Array;
}

/** See the file header. */
export class FloatWeights {
  private constructor(
    readonly config: DecoderConfig,
    private readonly weights: ReadonlyMap<string, Weight>,
  ) {}

  /** The weights that a new model begins with. */
  static random(config: DecoderConfig, seed: number): FloatWeights {
    manualSeed(seed);
    const weights = new Map<string, Weight>();
    for (const [name, tensor] of Object.entries(new CausalLM(config).stateDict())) {
      const from = tensor.storage.ptr / 4;
      const values = cpuHeap().f32.slice(from, from + tensor.numel);
      weights.set(name, { sizes: tensor.sizes, values });
      tensor.dispose();
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
    const model = new CausalLM(this.config);
    for (const [name, tensor] of Object.entries(model.stateDict())) {
      const { sizes, values } = this.weights.get(name)!;
      const copy = fromTypedArray(values, sizes);
      tensor.detach().copy_(copy);
      copy.dispose();
    }
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
