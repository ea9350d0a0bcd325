/**
 * @file One rank of `pnpm bench gpt2-data-parallel`: trains GPT-2 with random weights on its card, on random tokens.
 */
import { compile } from '@tessera/compile';
import {
  DistributedDataParallel,
  allGatherObject,
  barrier,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from '@tessera/distributed';
import { functional as F, init, optim } from '@tessera/nn';
import { type Tensor, manualSeed, randint } from '@tessera/tensor';
import { openGpu } from '../engines/tessera.js';
import { median } from '../harness/statistics.js';
import { Gpt2 } from '../tracer/networks.js';
import { chooseCard, memoryInUse } from './cards.js';

/** First argument of a process that is a rank. */
export const GPT2_RANK = 'gpt2-data-parallel-rank';

/** What a rank is told. */
export interface Gpt2Task {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly vocabulary: number;
  /** Tokens of a sequence. */
  readonly length: number;
  /** Sequences of each rank. */
  readonly batch: number;
  readonly steps: number;
  readonly dawn: string | null;
  readonly dawnFlags: readonly string[];
}

/** What rank 0 saw; medians, in ms. */
export interface Gpt2Times {
  readonly ranks: number;
  readonly adapter: string;
  /** `DRI_PRIME` of each rank. */
  readonly cards: readonly (string | null)[];
  readonly memory: ReturnType<typeof memoryInUse>;
  readonly parameters: number;
  readonly stepMs: number;
  /** A step whose gradients are not reduced. */
  readonly withoutReductionsMs: number;
  /** Of all ranks together. */
  readonly tokensPerSecond: number;
  readonly firstLoss: number;
  readonly lastLoss: number;
  /** Largest relative difference between ranks of a parameter's sum of squares after the steps. */
  readonly weightsApart: number;
}

/** Steps before those that count. */
const WARM_UP = 3;

/** Runs as a rank; rank 0 prints `Gpt2Times`. */
export async function gpt2Rank(task: Gpt2Task): Promise<number> {
  await initProcessGroup();
  const [rank, size] = [getRank(), getWorldSize()];
  const card = chooseCard(rank);
  const gpu = await openGpu(task);
  const { layers, width, heads, vocabulary, length, batch } = task;
  manualSeed(1);
  const inner = new Gpt2(layers, width, heads, vocabulary, length);
  for (const { weight } of [inner.tokens, inner.positions]) init.normal_(weight, 0, 0.02);
  const model = new DistributedDataParallel(inner);
  model.to('wgpu');
  const optimizer = new optim.AdamW(model.parameters(), { lr: 3e-4 });
  manualSeed(2 + rank);
  const [ids, next] = [0, 1].map(() => randint(0, vocabulary, [batch, length]).to('wgpu'));
  const forward = compile((x: Tensor, y: Tensor) =>
    F.crossEntropy(model.call(x).reshape([-1, vocabulary]), y.reshape([-1])),
  );
  const update = compile(() => optimizer.step());
  const backward = (): Tensor => {
    optimizer.zeroGrad();
    const loss = forward(ids!, next!);
    loss.backward();
    return loss.detach();
  };
  const step = async (): Promise<Tensor> => {
    const loss = backward();
    await model.synchronize();
    update();
    return loss;
  };
  const timed = async (run: () => Tensor | Promise<Tensor>): Promise<[number[], number[]]> => {
    const [times, losses]: [number[], number[]] = [[], []];
    for (let i = 0; i < WARM_UP + task.steps; i++) {
      await barrier();
      const start = performance.now();
      const loss = await run();
      await gpu.synchronize();
      if (i >= WARM_UP) times.push(performance.now() - start);
      losses.push(Number(await loss.item()));
    }
    return [times, losses];
  };
  const [times, losses] = await timed(step);
  const apart = await weightsApart(inner);
  const cards: (string | null)[] = Array.from({ length: size }, () => null);
  await allGatherObject(cards, card);
  const memory = rank === 0 ? memoryInUse() : [];
  // Last: every rank goes its own way here.
  const [alone] = await timed(() =>
    model.noSync(() => {
      const loss = backward();
      update();
      return loss;
    }),
  );
  const stepMs = median(times);
  const report: Gpt2Times = {
    ranks: size,
    adapter: gpu.adapterName,
    cards,
    memory,
    parameters: inner.parameters().reduce((sum, { numel }) => sum + numel, 0),
    stepMs,
    withoutReductionsMs: median(alone),
    tokensPerSecond: (size * batch * length * 1000) / stepMs,
    firstLoss: losses[0]!,
    lastLoss: losses.at(-1)!,
    weightsApart: apart,
  };
  if (rank === 0) console.log(JSON.stringify(report));
  await destroyProcessGroup();
  gpu.dispose();
  return 0;
}

/** See `Gpt2Times`. */
async function weightsApart(model: Gpt2): Promise<number> {
  const sums: number[] = [];
  for (const param of model.parameters())
    sums.push(Number(await param.detach().pow(2).sum().item()));
  const all: number[][] = Array.from({ length: getWorldSize() }, () => []);
  await allGatherObject(all, sums);
  return Math.max(
    ...all.flatMap((own) => own.map((sum, i) => Math.abs(sum - all[0]![i]!) / (all[0]![i]! || 1))),
  );
}
