/** @file A small world for programs that learn to act: walkers on a line, paid for being near its middle. */

/** See the file header. */
export class Walk {
  private readonly at: number[];
  private readonly speed: number[];

  constructor(walkers: number, seed: number) {
    this.at = Array.from({ length: walkers }, (_, i) => Math.sin(1 + i + 3 * seed) * 2);
    this.speed = this.at.map(() => 0);
  }

  /** [walkers, 2]: place and speed. */
  states(): number[][] {
    return this.at.map((at, i) => [at, this.speed[i]!]);
  }

  /** Actions 0, 1, 2 push to the left, not at all, to the right; gives rewards. */
  act(actions: readonly number[]): number[] {
    return actions.map((action, i) => {
      this.speed[i] = 0.8 * this.speed[i]! + 0.5 * (action - 1);
      this.at[i] = this.at[i]! + this.speed[i]!;
      return -Math.abs(this.at[i]!);
    });
  }

  /** Discounted sums of later rewards, by time and walker. */
  static returns(rewards: readonly (readonly number[])[], discount: number): number[][] {
    let later = rewards[0]!.map(() => 0);
    const sums = rewards.toReversed().map((row) => {
      later = row.map((reward, i) => reward + discount * later[i]!);
      return later;
    });
    return sums.toReversed();
  }
}
