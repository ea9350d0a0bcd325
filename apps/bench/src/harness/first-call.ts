/**
 * @file First calls: each sample is a fresh process, as only there nothing is compiled or cached yet.
 *
 * The process loads the engine and makes the inputs, which is not timed, and then times two things: the
 * first call ever (`cold`: the library's own code runs for the first time, in the slow tiers of V8), and
 * first calls of fresh functions of other shapes after it (`warm`).
 */
import { findEngine } from '../engines/index.js';
import { selectWorkloads } from '../workloads/index.js';
import { startChild } from './child.js';
import type { EngineOptions } from './engine.js';
import type { Outcome, WorkloadOutcome } from './outcome.js';
import type { NamedEngine } from './run-workload.js';
import { checkResult, messageOf, startProgram } from './start-program.js';
import { median, roundRatios, summarize } from './statistics.js';
import type { Workload } from './workload.js';

/** Argument that makes `main` the process of one sample; the request follows as JSON. */
export const FIRST_CALL_PROCESS = '--first-call-process';

/** Fresh functions timed after the first. */
const WARM_CALLS = 4;

/** What one process is asked to time. */
export interface FirstCallRequest {
  readonly workload: string;
  readonly engine: string;
  readonly options: EngineOptions;
  readonly quick: boolean;
}

/** What it answers. */
type FirstCallAnswer =
  | { readonly coldMs: number; readonly warmMs: readonly number[] }
  | { readonly status: 'unsupported' | 'wrong' | 'failed'; readonly reason: string };

/** Times first calls in this process. */
export async function timeFirstCalls(request: FirstCallRequest): Promise<FirstCallAnswer> {
  const { engine: name, options, quick } = request;
  const [workload] = selectWorkloads([request.workload], options.device);
  const engine = await findEngine(name)!.load(options);
  if ('unsupported' in engine) return { status: 'unsupported', reason: engine.unsupported };
  const times: number[] = [];
  for (let variant = 0; variant <= WARM_CALLS; variant++) {
    const instance = workload!.make({ device: options.device, quick, variant });
    const started = await startProgram(engine, workload!, instance, quick);
    if ('unsupported' in started) return { status: 'unsupported', reason: started.unsupported };
    if ('recorded' in started) return { status: 'unsupported', reason: 'not recorded' };
    times.push(started.firstCallMs);
    const { wrong } = await checkResult(started.program, instance, options.device);
    if (wrong !== null) return { status: 'wrong', reason: wrong };
    await started.program.dispose();
  }
  await engine.close?.();
  const [coldMs, ...warmMs] = times;
  return { coldMs: coldMs!, warmMs };
}

/** Entry point of the process of one sample: answers the request to its parent. */
export async function firstCallProcess(request: string): Promise<never> {
  let answer: FirstCallAnswer;
  try {
    answer = await timeFirstCalls(JSON.parse(request) as FirstCallRequest);
  } catch (error) {
    answer = { status: 'failed', reason: messageOf(error) };
  }
  await new Promise((sent) => process.send!(answer, sent));
  process.exit(0);
}

/** Runs one sample in a process of its own. */
function sample(request: FirstCallRequest): Promise<FirstCallAnswer> {
  return startChild<FirstCallAnswer>([FIRST_CALL_PROCESS, JSON.stringify(request)]).catch(
    (error: unknown) => ({ status: 'failed', reason: messageOf(error) }),
  );
}

/** Runs a workload of kind `first-call`; gives two results, cold and warm. */
export async function runFirstCalls(
  workload: Workload,
  engines: readonly NamedEngine[],
  options: EngineOptions,
  effort: { readonly quick: boolean; readonly rounds: number },
  progress: (text: string) => void,
): Promise<WorkloadOutcome[]> {
  const { quick, rounds } = effort;
  const answers = new Map<string, FirstCallAnswer[]>(engines.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name } of engines) {
      progress(`${workload.name}: ${name}: process ${round + 1} of ${rounds}`);
      const list = answers.get(name)!;
      if (list.some((answer) => 'status' in answer)) continue;
      list.push(await sample({ workload: workload.name, engine: name, options, quick }));
    }
  }
  const { shapes } = workload.make({ device: options.device, quick, variant: 0 });
  const outcomeOf = (
    about: string,
    suffix: string,
    time: (answer: Exclude<FirstCallAnswer, { status: string }>) => number,
  ): WorkloadOutcome => {
    const samples = new Map<string, number[]>();
    const outcomes = engines.map(({ name }): Outcome => {
      const list = answers.get(name)!;
      for (const answer of list) if ('status' in answer) return { engine: name, ...answer };
      const times = list.map((answer) => 1000 * time(answer as never));
      samples.set(name, times);
      const baseline = samples.get(engines[0]!.name);
      const isBaseline = baseline === undefined || name === engines[0]!.name;
      return {
        status: 'ok',
        engine: name,
        time: summarize(times),
        runsPerSample: 1,
        firstCallMs: null,
        ratio: isBaseline ? null : summarize(roundRatios(times, baseline)),
      };
    });
    return { name: `${workload.name}${suffix}`, about, shapes, work: {}, outcomes };
  };
  return [
    outcomeOf(`${workload.about}; fresh process`, '', ({ coldMs }) => coldMs),
    outcomeOf(`${workload.about}; later in the process, other shapes`, '_warm', ({ warmMs }) =>
      median(warmMs),
    ),
  ];
}
