/**
 * @file The ended texts of a beam search: the best of them, and whether a better one can still come.
 *
 * @see `_beam_search` of `transformers` 5, whose rules these are
 */

/** When to end with as many ended texts as beams: at once, when a better one is unlikely, or when it is impossible. */
export type EarlyStopping = boolean | 'never';

/** A text that has ended. */
interface Hypothesis {
  readonly tokens: readonly number[];
  /** Sum of the logarithms of the tokens' probabilities, by length. */
  readonly score: number;
}

/** See the file header. */
export class BeamHypotheses {
  private readonly found: Hypothesis[] = [];

  constructor(
    private readonly count: number,
    private readonly rules: {
      readonly lengthPenalty: number;
      readonly earlyStopping: EarlyStopping;
      readonly maxNewTokens: number;
    },
  ) {}

  /** Takes in a text with the sum of the logarithms of its tokens' probabilities. */
  add(tokens: readonly number[], sum: number): void {
    this.found.push({ tokens, score: this.scoreOf(sum, tokens.length) });
    this.found.sort((a, b) => b.score - a.score);
    if (this.found.length > this.count) this.found.pop();
  }

  /** Whether to end after `length` tokens, `best` being the best sum of an open text. */
  isDone(best: number, length: number): boolean {
    if (this.found.length < this.count) return false;
    const { earlyStopping, lengthPenalty, maxNewTokens } = this.rules;
    if (earlyStopping === true) return true;
    // With a reward for length, what can still be reached is reached by the longest text.
    const at = earlyStopping === 'never' && lengthPenalty > 0 ? maxNewTokens : length;
    return this.found.at(-1)!.score >= this.scoreOf(best, at);
  }

  /** The best text. */
  get best(): Hypothesis {
    return this.found[0]!;
  }

  private scoreOf(sum: number, length: number): number {
    return sum / length ** this.rules.lengthPenalty;
  }
}
