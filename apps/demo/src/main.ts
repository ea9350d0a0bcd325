/**
 * @file `pnpm demo`: trains a digit classifier with the whole step compiled, shows the same steps
 * uncompiled, and draws a few predictions.
 */
import {
  compile,
  compiledFunctionOf,
  config,
  initWebGpu,
  observeCompilations,
} from '@tessera/compile';
import { isTesseraError } from '@tessera/shared';
import type { Digits } from './digits.js';
import { loadDigits } from './load-digits.js';
import { makeModel, makeOptimizer } from './models.js';
import { type DemoOptions, USAGE, readOptions } from './options.js';
import { bar, drawDigits, progress, table } from './report.js';
import { accuracy, batches, predict, runSteps, trainingStep } from './train.js';

/** Steps that are run uncompiled, for comparison. */
const COMPARED_STEPS = 15;

/** What `--json` prints, and more than it needs. */
export interface DemoResult {
  readonly device: string;
  readonly model: string;
  readonly firstLoss: number;
  readonly lastLoss: number;
  /** In [0, 1]. */
  readonly testAccuracy: number;
  /** What PyTorch reached after the same number of epochs, if recorded. */
  readonly recordedAccuracy: number | null;
  /** Largest relative difference to PyTorch's recorded losses over the first 15 steps. */
  readonly lossError: number;
  readonly steps: number;
  readonly compileMs: number;
  /** Reference kernels, op by op; on `wgpu` there are none, so null. */
  readonly eagerMsPerStep: number | null;
  /** Ops compiled one by one. */
  readonly eagerInductorMsPerStep: number;
  readonly compiledMsPerStep: number;
  readonly kernelsPerStep: number;
  readonly graphs: number;
  readonly recompiles: number;
  readonly losses: readonly number[];
}

/** Time of uncompiled steps from the same start. */
async function uncompiled(
  options: DemoOptions,
  digits: Digits,
  kernels: 'reference' | 'inductor',
): Promise<number> {
  const model = makeModel(options.model, digits.state(options.model), options.device);
  const step = trainingStep(model, makeOptimizer(options.model, model));
  const run = (count: number): Promise<{ msPerStep: number }> =>
    config.patch({ 'eager.kernels': kernels }, () =>
      runSteps(step, digits.train, digits.batchSize, count),
    );
  // Ops are compiled, and V8 warms up, in the first steps.
  await run(kernels === 'inductor' ? COMPARED_STEPS : 2);
  return (await run(COMPARED_STEPS)).msPerStep;
}

interface Trained {
  readonly result: DemoResult;
  readonly predictions: number[];
  /** Guards recorded at the entry of the step. */
  readonly guards: number;
}

async function train(options: DemoOptions, digits: Digits): Promise<Trained> {
  const model = makeModel(options.model, digits.state(options.model), options.device);
  const step = compile(trainingStep(model, makeOptimizer(options.model, model)));
  let kernels = 0;
  const stopObserving = observeCompilations(
    (_graph, compiled) => (kernels += compiled.plan.launches.length),
  );
  const all = batches(digits.train, digits.batchSize);
  const total = all.length * options.epochs;
  const losses: number[] = [];
  let firstMs = 0;
  let restMs = 0;
  for (let i = 0; i < total; i++) {
    const { images, labels } = all[i % all.length]!;
    const start = performance.now();
    losses.push(await step(images, labels).item());
    const ms = performance.now() - start;
    if (i === 0) firstMs = ms;
    else restMs += ms;
    progress(
      `epoch ${Math.floor(i / all.length) + 1}/${options.epochs} ${bar(i + 1, total)} loss ${losses[i]!.toFixed(4)}  ${(1000 / (restMs / Math.max(i, 1) || firstMs)).toFixed(0)} steps/s`,
    );
  }
  progress('');
  stopObserving();
  const predictions = await predict(model, digits.test);
  const steady = await runSteps(step, digits.train, digits.batchSize, 4 * COMPARED_STEPS);
  const eagerReference =
    options.device === 'cpu' ? await uncompiled(options, digits, 'reference') : null;
  const eagerInductor = await uncompiled(options, digits, 'inductor');
  const compiled = compiledFunctionOf(step);
  const recorded = digits.recorded(options.model);
  const compared = losses.slice(0, COMPARED_STEPS);
  return {
    predictions,
    guards: compiled.captures[0]!.guards.guards.length,
    result: {
      device: options.device,
      model: options.model,
      firstLoss: losses[0]!,
      lastLoss: losses.at(-1)!,
      testAccuracy: accuracy(predictions, digits.testLabels),
      recordedAccuracy: recorded.testAccuracy[options.epochs - 1] ?? null,
      lossError: Math.max(
        ...compared.map((loss, i) => Math.abs(loss - recorded.losses[i]!) / recorded.losses[i]!),
      ),
      steps: total,
      compileMs: firstMs,
      eagerMsPerStep: eagerReference,
      eagerInductorMsPerStep: eagerInductor,
      compiledMsPerStep: steady.msPerStep,
      kernelsPerStep: kernels,
      graphs: compiled.captures[0]!.segments.length,
      recompiles: compiled.captures.length - 1,
      losses,
    },
  };
}

function show(
  result: DemoResult,
  digits: Digits,
  predictions: readonly number[],
  guards: number,
): void {
  const ms = (value: number): string => `${value.toFixed(3)} ms`;
  const rows: [string, string][] = [
    ['graphs', String(result.graphs)],
    ['kernels per step', String(result.kernelsPerStep)],
    ['entry guards', String(guards)],
    ['recompiles', String(result.recompiles)],
    ['first call', ms(result.compileMs)],
    ...(result.eagerMsPerStep === null
      ? []
      : ([['eager, reference kernels', `${ms(result.eagerMsPerStep)} per step`]] as [
          string,
          string,
        ][])),
    ['eager, compiled ops', `${ms(result.eagerInductorMsPerStep)} per step`],
    ['compiled', `${ms(result.compiledMsPerStep)} per step`],
    [
      'speed-up over eager',
      `${result.eagerMsPerStep === null ? '' : `${(result.eagerMsPerStep / result.compiledMsPerStep).toFixed(1)}× reference, `}${(result.eagerInductorMsPerStep / result.compiledMsPerStep).toFixed(1)}× compiled ops`,
    ],
  ];
  console.log(
    `\nTrained ${result.model} on ${result.device}: loss ${result.firstLoss.toFixed(4)} → ${result.lastLoss.toFixed(4)}, test accuracy ${(100 * result.testAccuracy).toFixed(1)} %`,
  );
  if (result.recordedAccuracy !== null)
    console.log(
      `PyTorch recorded ${(100 * result.recordedAccuracy).toFixed(1)} %; first losses differ by at most ${result.lossError.toExponential(1)} (relative).`,
    );
  console.log(`\n${table(rows)}\n`);
  console.log(drawDigits(digits.testPixels, predictions, digits.testLabels, [0, 1, 2, 3, 4]));
}

async function main(argv: readonly string[]): Promise<void> {
  const options = readOptions(argv);
  if (options === null) {
    console.log(USAGE);
    return;
  }
  const gpu = options.device === 'wgpu' ? await initWebGpu() : null;
  if (!options.json)
    console.log(
      `Training ${options.model} on ${gpu === null ? 'cpu (WebAssembly)' : `wgpu (${gpu.adapterName})`} …`,
    );
  const digits = await loadDigits(options.device);
  const { result, predictions, guards } = await train(options, digits);
  if (options.json) console.log(JSON.stringify(result));
  else show(result, digits, predictions, guards);
  gpu?.dispose();
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(isTesseraError(error) ? error.message : error);
  process.exitCode = 1;
});
