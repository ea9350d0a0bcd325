/**
 * @file Any number of random numbers for one element of a random operator, for rejection methods.
 *
 * The n-th block of four words of element `index` is `philox(counter = [index, n, offset, 0])` with n from 1, so
 * an element can still be made alone and in any order, and never meets the numbers of operators that take one.
 */
import type { GeneratorState } from './generator.js';
import { philox } from './philox.js';

/** See the file header. */
export class NumberStream {
  private readonly words = new Uint32Array(4);
  private index = 0;
  private block = 0;
  private used = 4;

  constructor(private readonly state: GeneratorState) {}

  /** From here on the numbers of this element. */
  of(index: number): this {
    this.index = index;
    this.block = 0;
    this.used = 4;
    return this;
  }

  /** A uniform number, strictly between 0 and 1. */
  uniform(): number {
    if (this.used === 4) {
      const { seed, offset } = this.state;
      philox(this.index >>> 0, ++this.block, offset >>> 0, 0, seed, this.words);
      this.used = 0;
    }
    return (this.words[this.used++]! + 0.5) * 2 ** -32;
  }

  /** A standard normal number. */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }
}
