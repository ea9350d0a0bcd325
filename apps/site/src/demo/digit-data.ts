/**
 * @file The digits as tensors, from the file that the demo of the repository ships.
 */
import { type Tensor, parseSafetensors, tensor } from '@tessera/tensor';

/** Images that are trained on; the others are for testing. */
const TRAIN_COUNT = 1500;

/** Images [N, 64] with values 0…1, labels int64 [N], and both as they were read. */
export interface DigitSet {
  readonly images: Tensor;
  readonly labels: Tensor;
  readonly size: number;
  readonly pixels: Uint8Array;
  readonly answers: Uint8Array;
}

async function unpack(address: string): Promise<Uint8Array> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`The digits did not load: ${response.status}`);
  const plain = response.body!.pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Loads the digits: what to train on, and what to test with. */
export async function loadDigits(address: string): Promise<{ train: DigitSet; test: DigitSet }> {
  const file = parseSafetensors(await unpack(address));
  const pixels = file.images_u8!.toTypedArray() as Uint8Array;
  const labels = file.labels!.toTypedArray() as Uint8Array;
  const set = (from: number, to: number): DigitSet => {
    const part = pixels.slice(from * 64, to * 64);
    const answers = labels.slice(from, to);
    return {
      images: tensor(Float32Array.from(part, (value) => value / 16)).view([to - from, 64]),
      labels: tensor(Array.from(answers), { dtype: 'int64' }),
      size: to - from,
      pixels: part,
      answers,
    };
  };
  return { train: set(0, TRAIN_COUNT), test: set(TRAIN_COUNT, labels.length) };
}
