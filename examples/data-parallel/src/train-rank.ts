/**
 * @file What every rank does: wraps the model, trains on its rows of each batch, writes checkpoints.
 *
 * Started by `mpirun -n N node dist/main.js --rank '{…}'`.
 */
import { writeFileSync } from 'node:fs';
import { compile, config } from '@tessera/compile';
import {
  DistributedDataParallel,
  allReduce,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  loadTraining,
  saveTraining,
} from '@tessera/distributed';
import { type Tensor, saveCheckpoint } from '@tessera/tensor';
import { type TaskName, makeTask } from './tasks.js';

/** What a rank is told. */
export interface RankOptions {
  readonly task: TaskName;
  readonly steps: number;
  readonly compiled: boolean;
  /** Where rank 0 writes the losses (`.json`) and the weights (`.safetensors`). */
  readonly out: string;
  /** Written every ten steps, and continued from if `resume` is set. */
  readonly checkpoint: string | null;
  readonly resume: boolean;
  /** The last rank is killed before this step. */
  readonly killedAt: number | null;
}

/** See the file header. */
export async function trainRank(options: RankOptions): Promise<void> {
  await initProcessGroup();
  const [rank, size] = [getRank(), getWorldSize()];
  // The ranks share the machine's cores.
  config.set({ 'cpu.threads': 1 });
  const task = makeTask(options.task);
  const model = new DistributedDataParallel(task.model);
  const optimizer = task.optimizer(model.parameters());
  const eager = (x: Tensor, y: Tensor): Tensor => {
    optimizer.zeroGrad();
    const loss = task.loss(model.call(x), y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  const step = options.compiled ? compile(eager, { fullgraph: true }) : eager;
  const losses: number[] = [];
  const { checkpoint } = options;
  if (options.resume)
    losses.push(...((await loadTraining(checkpoint!, { model, optimizer })) as number[]));
  for (let i = losses.length; i < options.steps; i++) {
    if (i === options.killedAt && rank === size - 1) process.kill(process.pid, 'SIGKILL');
    const [x, y] = task.batch(i).map((whole) => whole.chunk(size, 0)[rank]!) as [Tensor, Tensor];
    const loss = step(x, y).clone();
    await allReduce(loss, { op: 'avg' });
    losses.push(await loss.item());
    if (checkpoint !== null && losses.length % 10 === 0)
      await saveTraining(checkpoint, { model, optimizer, extra: losses });
  }
  if (rank === 0) {
    writeFileSync(`${options.out}.json`, JSON.stringify(losses));
    await saveCheckpoint(`${options.out}.safetensors`, task.model.stateDict());
  }
  await destroyProcessGroup();
}
