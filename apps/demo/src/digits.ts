/**
 * @file The digits: 1,797 real 8×8 images, the weights the models start from, and the losses that
 * PyTorch recorded with them. Reads no files, so a page can use it.
 */
import { type DeviceType, type Tensor, parseSafetensors, tensor } from '@tessera/tensor';

/** What PyTorch reached with the same weights, data and optimizer. */
export interface Recorded {
  readonly losses: readonly number[];
  /** After each epoch, in [0, 1]. */
  readonly testAccuracy: readonly number[];
}

/** A set of images [N, 1, 8, 8], values 0…1, and labels int64 [N]. */
export interface DigitSet {
  readonly images: Tensor;
  readonly labels: Tensor;
  readonly size: number;
}

/** Everything the job needs. */
export interface Digits {
  readonly train: DigitSet;
  readonly test: DigitSet;
  readonly batchSize: number;
  /** Raw pixels 0…16 and labels of the test set, for drawing. */
  readonly testPixels: Uint8Array;
  readonly testLabels: Uint8Array;
  /** Initial state of a model, by PyTorch's names. */
  state(model: 'mlp' | 'cnn'): Record<string, Tensor>;
  recorded(model: 'mlp' | 'cnn'): Recorded;
}

/** What `digits.json` holds. */
export interface DigitFacts {
  readonly trainCount: number;
  readonly batchSize: number;
  readonly mlp: Recorded;
  readonly cnn: Recorded;
}

/** The data on a device, from the content of the two files. */
export function readDigits(safetensors: Uint8Array, facts: DigitFacts, device: DeviceType): Digits {
  const file = parseSafetensors(safetensors);
  const pixels = file.images_u8!.toTypedArray() as Uint8Array;
  const labels = file.labels!.toTypedArray() as Uint8Array;
  const set = (from: number, to: number): DigitSet => ({
    images: tensor(Float32Array.from(pixels.subarray(from * 64, to * 64), (value) => value / 16))
      .view([to - from, 1, 8, 8])
      .to(device),
    labels: tensor(Array.from(labels.subarray(from, to)), { dtype: 'int64' }).to(device),
    size: to - from,
  });
  return {
    train: set(0, facts.trainCount),
    test: set(facts.trainCount, labels.length),
    batchSize: facts.batchSize,
    testPixels: pixels.subarray(facts.trainCount * 64),
    testLabels: labels.subarray(facts.trainCount),
    state(model) {
      const prefix = `digits_${model}/state/`;
      const entries = Object.entries(file).filter(([name]) => name.startsWith(prefix));
      return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value]));
    },
    recorded: (model) => facts[model],
  };
}
