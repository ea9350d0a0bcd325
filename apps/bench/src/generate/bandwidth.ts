/**
 * @file How fast memory can be read: a compiled sum over as many bytes as a model's weights, by all threads.
 */
import { compile } from '@tessera/compile';
import { type Tensor, noGrad, ones } from '@tessera/tensor';

/** Bytes of one tensor that is read; weights are many tensors, too. */
const PART = 2 ** 26;

/** See the file header. */
export class BandwidthProbe {
  private readonly parts: Tensor[];
  private readonly sum: (...parts: Tensor[]) => Tensor[];

  constructor(bytes: number) {
    this.parts = [];
    for (let left = Math.ceil(bytes / 4); left > 0; left -= PART / 4)
      this.parts.push(ones([Math.min(left, PART / 4)]));
    this.sum = compile((...parts: Tensor[]) => parts.map((part) => part.sum()));
  }

  /** Milliseconds of one pass over the bytes. */
  pass(): number {
    const start = performance.now();
    noGrad(() => {
      for (const sum of this.sum(...this.parts)) sum.dispose();
    });
    return performance.now() - start;
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }
}
