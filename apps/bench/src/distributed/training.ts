/**
 * @file One rank of the training row of `pnpm bench distributed`: a compiled training step of a multilayer perceptron.
 *
 * Times the step with its reductions, the same step without them (`noSync`), and the reductions alone: what of the last
 * does not show in the first is hidden behind the backward pass.
 */
import { compile, config } from '@tessera/compile';
import {
  DistributedDataParallel,
  allReduce,
  barrier,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from '@tessera/distributed';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, empty, manualSeed, randint, randn } from '@tessera/tensor';
import { median } from '../harness/statistics.js';

/** First argument of a process that is a rank of the training row. */
export const TRAINING_RANK = 'distributed-training-rank';

const WIDTH = 1024;

/** What rank 0 saw; medians, in ms. */
export interface TrainingTimes {
  readonly ranks: number;
  readonly threadsPerRank: number;
  readonly stepMs: number;
  readonly withoutReductionsMs: number;
  readonly reductionsAloneMs: number;
  /** Of the reductions' time, what the step does not take longer for them, round by round: 1 is all. */
  readonly hidden: number;
}

/** Rounds before those that count. */
const WARM_UP = 3;

/** Times of several runs that take turns, in ms: a row for each. */
async function takeTurns(rounds: number, runs: readonly (() => void)[]): Promise<number[][]> {
  const times = runs.map((): number[] => []);
  for (let round = 0; round < rounds + WARM_UP; round++) {
    for (const [i, run] of runs.entries()) {
      await barrier();
      const start = performance.now();
      run();
      if (round >= WARM_UP) times[i]!.push(performance.now() - start);
    }
  }
  return times;
}

/** Runs as a rank; rank 0 prints `TrainingTimes`. The batch is what all ranks have together. */
export async function trainingRank(
  threads: number,
  batch: number,
  rounds: number,
): Promise<number> {
  await initProcessGroup();
  const [rank, size] = [getRank(), getWorldSize()];
  config.set({ 'cpu.threads': threads });
  manualSeed(1);
  const layers = Array.from({ length: 4 }, () => [new Linear(WIDTH, WIDTH), new ReLU()]).flat();
  const inner = new Sequential(...layers, new Linear(WIDTH, 10));
  const model = new DistributedDataParallel(inner, { bucketCapMb: 5 });
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
  const x = randn([batch / size, WIDTH]);
  const y = randint(0, 10, [batch / size]);
  const step = (): Tensor => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  const [reducing, alone] = [
    compile(step, { fullgraph: true }),
    compile(step, { fullgraph: true }),
  ];
  const gradients = empty([inner.parameters().reduce((sum, { numel }) => sum + numel, 0)]).zero_();
  const [steps, without, reductions] = (await takeTurns(rounds, [
    () => void reducing(),
    () => model.noSync(() => void alone()),
    () => allReduce(gradients, { async: true }).waitSync(),
  ])) as [number[], number[], number[]];
  const reductionsAloneMs = median(reductions);
  const shown = median(steps.map((ms, i) => ms - without[i]!));
  const times: TrainingTimes = {
    ranks: size,
    threadsPerRank: threads,
    stepMs: median(steps),
    withoutReductionsMs: median(without),
    reductionsAloneMs,
    hidden: size === 1 ? 1 : 1 - shown / reductionsAloneMs,
  };
  if (rank === 0) console.log(JSON.stringify(times));
  await destroyProcessGroup();
  return 0;
}
