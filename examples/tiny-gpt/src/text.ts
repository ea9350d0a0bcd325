/**
 * @file The text: characters as numbers, and random stretches of them as batches.
 */
import { type Tensor, randint, stack, tensor } from '@tessera/tensor';

/** A text as characters' numbers, split into a part to train on and a part to judge by. */
export class Text {
  readonly chars: string[];
  readonly train: Tensor;
  readonly val: Tensor;
  private readonly stoi: Map<string, number>;

  constructor(text: string) {
    this.chars = [...new Set(text)].sort();
    this.stoi = new Map(this.chars.map((char, i) => [char, i]));
    const data = this.encode(text);
    const n = Math.floor(0.9 * data.numel);
    this.train = data.narrow(0, 0, n);
    this.val = data.narrow(0, n, data.numel - n);
  }

  encode(text: string): Tensor {
    return tensor(
      [...text].map((char) => this.stoi.get(char) ?? 0),
      { dtype: 'int64' },
    );
  }

  decode(indices: readonly number[]): string {
    return indices.map((i) => this.chars[i]).join('');
  }
}

/** Random stretches and, one character on, what should follow: [batchSize, blockSize] each. */
export function getBatch(data: Tensor, batchSize: number, blockSize: number): [Tensor, Tensor] {
  const ix = randint(0, data.numel - blockSize, [batchSize]).toArray() as number[];
  const x = stack(ix.map((i) => data.narrow(0, i, blockSize)));
  const y = stack(ix.map((i) => data.narrow(0, i + 1, blockSize)));
  return [x, y];
}
