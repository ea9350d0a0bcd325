/**
 * @file `pnpm example:data-parallel`: trains on 1, 2 and 4 processes and compares what comes out.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Run, difference, launch, readRun } from './launch.js';
import type { TaskName } from './tasks.js';
import { type RankOptions, trainRank } from './train-rank.js';

/** Relative; what another order of additions may change. */
const TOLERANCE = 1e-6;

const STEPS: Readonly<Record<TaskName, number>> = { digits: 50, gpt: 20 };

const [flag, text] = process.argv.slice(2);
if (flag === '--rank') {
  await trainRank(JSON.parse(text!) as RankOptions);
} else {
  process.exitCode = (await compareRuns()) ? 0 : 1;
}

async function compareRuns(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-data-parallel-'));
  try {
    const tasks: TaskName[] = ['digits', 'gpt'];
    let good = true;
    for (const task of tasks) good = (await sameOnAllSizes(folder, task)) && good;
    return (await resumesAfterKill(folder)) && good;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(
  folder: string,
  ranks: number,
  options: Partial<RankOptions> & { readonly task: TaskName },
): Promise<Run> {
  const out = join(folder, `${options.task}-${ranks}`);
  const status = launch(ranks, {
    steps: STEPS[options.task],
    compiled: false,
    checkpoint: null,
    resume: false,
    killedAt: null,
    ...options,
    out,
  });
  if (status !== 0) throw new Error(`The job of ${ranks} ranks ended with status ${status}.`);
  return readRun(out);
}

function report(what: string, a: Run, b: Run): boolean {
  const { losses, weights } = difference(a, b);
  const good = losses <= TOLERANCE && weights <= TOLERANCE;
  const last = b.losses[b.losses.length - 1]!;
  console.log(
    `${good ? 'ok ' : 'BAD'} ${what.padEnd(44)} last loss ${last.toFixed(6)}  losses differ by ${losses.toExponential(1)}, weights by ${weights.toExponential(1)}`,
  );
  return good;
}

async function sameOnAllSizes(folder: string, task: TaskName): Promise<boolean> {
  const alone = await run(folder, 1, { task });
  console.log(
    `    ${task}, eager, 1 rank, ${STEPS[task]} steps: loss ${alone.losses[0]!.toFixed(4)} → ${alone.losses.at(-1)!.toFixed(4)}`,
  );
  let good = true;
  for (const compiled of [false, true])
    for (const ranks of compiled ? [1, 2, 4] : [2, 4]) {
      const name = `${task}, ${compiled ? 'compiled' : 'eager'}, ${ranks} rank${ranks > 1 ? 's' : ''}`;
      good = report(name, alone, await run(folder, ranks, { task, compiled })) && good;
    }
  return good;
}

/** A rank of two is killed; four go on from the last checkpoint. */
async function resumesAfterKill(folder: string): Promise<boolean> {
  const whole = await run(folder, 2, { task: 'digits', compiled: true });
  const checkpoint = join(folder, 'digits-checkpoint.safetensors');
  const killed: RankOptions = {
    task: 'digits',
    steps: STEPS.digits,
    compiled: true,
    out: join(folder, 'killed'),
    checkpoint,
    resume: false,
    killedAt: 27,
  };
  const begun = performance.now();
  const status = launch(2, killed, false);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(
    `    digits, 2 ranks, one killed at step 27: the job ended with status ${status} after ${seconds} s`,
  );
  const rest = await run(folder, 4, { task: 'digits', compiled: true, checkpoint, resume: true });
  return report('digits, resumed from step 20 on 4 ranks', whole, rest) && status !== 0;
}
