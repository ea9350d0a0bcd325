/**
 * @file `pnpm bench gpt2-data-parallel`: tokens per second of training GPT-2 124M on one card and on several, as JSON.
 */
import { parseArgs } from 'node:util';
import { GPT2_RANK, type Gpt2Task, type Gpt2Times } from './gpt2-rank.js';
import { startSelf } from './launch-ranks.js';

/** The command. */
export const GPT2_DATA_PARALLEL = 'gpt2-data-parallel';

/** See the file header. */
export interface Gpt2Report {
  readonly task: Gpt2Task;
  readonly alone: Gpt2Times;
  readonly together: Gpt2Times;
  /** Tokens per second together over those of as many cards that need not wait for each other: 1 is no loss. */
  readonly efficiency: number;
}

const GPT2 = { layers: 12, width: 768, heads: 12, vocabulary: 50257, length: 1024 };
const TINY = { layers: 2, width: 32, heads: 2, vocabulary: 100, length: 16 };

/** @throws distributed-unavailable without `mpirun` */
export function gpt2Report(args: readonly string[]): Gpt2Report {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ranks: { type: 'string', default: '2' },
      batch: { type: 'string', default: '4' },
      steps: { type: 'string', default: '20' },
      dawn: { type: 'string' },
      'dawn-flag': { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
    },
  });
  const task: Gpt2Task = {
    ...(values.quick ? TINY : GPT2),
    batch: Number(values.batch),
    steps: Number(values.steps),
    dawn: values.dawn ?? null,
    dawnFlags: values['dawn-flag'],
  };
  const run = (ranks: number): Gpt2Times => startSelf(ranks, [GPT2_RANK, JSON.stringify(task)]);
  const alone = run(1);
  const together = run(Number(values.ranks));
  const efficiency = together.tokensPerSecond / (together.ranks * alone.tokensPerSecond);
  return { task, alone, together, efficiency };
}
