/**
 * @file The page of the browser test: trains the digits MLP compiled, on the device that the address
 * names (`?device=wgpu`), and leaves what it saw in a global.
 */
import { compile, compiledFunctionOf } from '@tessera/compile';
import { type DeviceType, cpuHeap } from '@tessera/tensor';
import facts from '../../data/digits.json' with { type: 'json' };
import { readDigits } from '../../src/digits.js';
import { makeModel, makeOptimizer } from '../../src/models.js';
import { runSteps, trainingStep } from '../../src/train.js';

/** Steps that are run: as many as the program compares, and enough work to start threads. */
const STEPS = 15;

/** What the page found. */
export interface TrainingResult {
  error: string;
  isolated: boolean;
  /** Whether tensors live in memory that worker threads share. */
  sharedHeap: boolean;
  /** Workers that the page started. */
  workers: number;
  captures: number;
  losses: number[];
  recorded: number[];
}

/** Counts the workers that the CPU backend starts. */
function countWorkers(result: TrainingResult): void {
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      result.workers++;
    }
  };
}

async function gunzip(packed: Response): Promise<Uint8Array> {
  const plain = packed.body!.pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

async function main(result: TrainingResult): Promise<void> {
  countWorkers(result);
  const device = new URLSearchParams(location.search).get('device') as DeviceType;
  // A file of its own, which only pages for the GPU load.
  if (device === 'wgpu') await (await import('@tessera/compile/webgpu')).initWebGpu();
  const digits = readDigits(await gunzip(await fetch('/digits')), facts, device);
  const model = makeModel('mlp', digits.state('mlp'), device);
  const step = compile(trainingStep(model, makeOptimizer('mlp', model)));
  result.losses = (await runSteps(step, digits.train, digits.batchSize, STEPS)).losses;
  result.recorded = digits.recorded('mlp').losses.slice(0, STEPS);
  result.captures = compiledFunctionOf(step).captures.length;
  result.sharedHeap = cpuHeap().shared;
}

const result: TrainingResult = {
  error: '',
  isolated: crossOriginIsolated,
  sharedHeap: false,
  workers: 0,
  captures: 0,
  losses: [],
  recorded: [],
};
main(result)
  .catch(
    (error: unknown) =>
      (result.error = error instanceof Error ? (error.stack ?? error.message) : String(error)),
  )
  .finally(() => Object.assign(globalThis, { tesseraResult: result }));
