/**
 * @file `PromptChunks`: how many tokens of a prompt are taken in by each call.
 *
 * Each number of tokens is a function of its own, which has to be compiled, so there are two: a chunk, and for short prompts
 * and rests of long ones a quarter of it, which takes little more than a third of the time. The last call is filled up.
 */

/** Shorter chunks than this are not quartered again: most of their time is reading weights. */
const FEWEST = 16;

/** A call that takes in tokens. */
export interface PromptCall<F> {
  /** Its first token. */
  readonly from: number;
  /** Tokens that it takes in, those that fill it up among them. */
  readonly size: number;
  readonly takeIn: F;
}

/** See the file header. */
export class PromptChunks<F> {
  /** What calls begin at multiples of. */
  readonly step: number;
  private readonly made = new Map<number, F>();

  /**
   * @param chunk tokens of the larger calls
   * @param room places of the cache, a multiple of `chunk`
   * @param make the function for so many tokens
   */
  constructor(
    private readonly chunk: number,
    private readonly room: number,
    private readonly make: (size: number) => F,
  ) {
    const quarter = chunk / 4;
    this.step = Number.isInteger(quarter) && quarter >= FEWEST ? quarter : chunk;
  }

  /** The calls for the tokens from `from` on, a multiple of `step`, to the end of a prompt. */
  *calls(from: number, length: number): Generator<PromptCall<F>, void> {
    for (let at = from; at < length;) {
      const { chunk, step } = this;
      const isShort = length - at <= 2 * step;
      const size = isShort || at + chunk > this.room ? step : chunk;
      yield { from: at, size, takeIn: this.functionFor(size) };
      at += size;
    }
  }

  private functionFor(size: number): F {
    let found = this.made.get(size);
    if (found === undefined) this.made.set(size, (found = this.make(size)));
    return found;
  }
}

/** The tokens of a row that a call takes in. */
export function filledUp(
  row: readonly number[],
  { from, size }: Pick<PromptCall<unknown>, 'from' | 'size'>,
  filler: number,
): number[] {
  const part = row.slice(from, from + size);
  return [...part, ...Array<number>(size - part.length).fill(filler)];
}
