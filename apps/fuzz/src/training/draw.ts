/**
 * @file Drawing a training loop from a seed.
 */
import { Dice } from '../dice.js';
import type { FuzzDevice } from '../devices.js';
import { type Code, type TrainingProgram, block } from './code.js';
import { type Around, randomEvent } from './events.js';
import type { Ingredients } from './form-parts.js';
import { randomForm } from './forms.js';
import { LOSSES, SCHEDULES, randomLayer, randomOptimizer } from './parts.js';

/** Makes of a seed another for dice beside those of other programs. */
const TRAINING_SEED = 0x3c6ef372;

/** Share of the programs that are training loops, where nothing is said. */
const CHANCE = 0.15;

/** Whether the program of a seed is a training loop. */
export function isTraining(seed: number): boolean {
  return new Dice(seed ^ TRAINING_SEED).chance(CHANCE);
}

const AVERAGES = [
  'new swa.AveragedModel(model)',
  'new swa.AveragedModel(model, { avgFn: swa.getEmaAvgFn(0.9) })',
  'new swa.AveragedModel(model, { multiAvgFn: swa.getEmaMultiAvgFn(0.8), useBuffers: true })',
];

/** Rows of the batches: the same, two in turn, or any. */
function batches(dice: Dice, calls: number): number[] {
  const kind = dice.below(3);
  const [a, b] = [2 + dice.below(3), 2 + dice.below(4)];
  return Array.from({ length: calls }, (_, i) =>
    kind === 0 ? a : kind === 1 ? (i % 2 === 0 ? a : b) : 1 + dice.below(6),
  );
}

/**
 * A line without `tidy`, where a step keeps what it does not return: `tidy` releases that if its history is used up, and
 * of compiled code nobody promises when that is.
 */
function untidied(line: Code): Code {
  return typeof line === 'string' ? line.replace(/T\.tidy\(\(\) => (.*)\)\);$/, '$1);') : line;
}

/** One candidate; it may not run. */
function draw(seed: number, dice: Dice, device: FuzzDevice): TrainingProgram {
  const wgpu = device === 'wgpu';
  const [hasRate, hasEma] = [dice.chance(0.3), dice.chance(0.25)];
  const waits = dice.chance(0.15);
  const optimizer = randomOptimizer(dice);
  const [kind, loss] = dice.pick(LOSSES);
  const given: Ingredients = {
    dice,
    kind,
    waits,
    wgpu,
    hasRate,
    hasEma,
    optimizerOf: optimizer.of,
  };
  const form = randomForm(given);
  const layers = Array.from({ length: 1 + dice.below(4) }, () => randomLayer(dice, wgpu));
  const setup: Code[] = [
    `T.manualSeed(${dice.below(100)});`,
    'const layers = [];',
    ...layers.map((layer) => `layers.push(${layer});`),
    `let model = new ${dice.chance(0.8) ? 'Net' : 'Parted'}(layers, new nn.Linear(4, 3)).to(device);`,
    "see('model', () => model);",
    `let opt = ${optimizer.of('model')};`,
    "see('opt', () => opt);",
    ...(hasRate ? [`const rate = ${dice.pick(SCHEDULES)};`, "see('rate', () => rate);"] : []),
    ...(hasEma ? [`const ema = ${dice.pick(AVERAGES)};`, "see('ema', () => ema);"] : []),
    'const kept = [];',
    dice.chance(0.5) ? "later('kept', () => kept);" : "see('kept', () => kept);",
    'const handles = [];',
    'let saved = null;',
    'let state = null;',
    block('const loss = (out, y) => {', [`return ${loss};`], '};'),
    dice.chance(0.6)
      ? 'const evaluate = wrap((x) => model.call(x));'
      : 'const evaluate = (x) => model.call(x);',
    ...form.setup,
  ];
  const around: Around = {
    dice,
    wgpu,
    hasRate,
    hasEma,
    optimizerOf: optimizer.of,
    inputs: (n) => `inputs(${n}, ${dice.below(9)})`,
  };
  const rows = batches(dice, 4 + dice.below(4));
  const failing = dice.chance(0.35) ? dice.below(rows.length) : -1;
  const calls = rows.map((n, i): Code[] => {
    const events =
      i === 0 || dice.chance(0.4)
        ? []
        : Array.from({ length: 1 + dice.below(2) }, () => randomEvent(around));
    // In the last call, whatever has been changed before.
    return [
      ...events.flat(),
      ...(failing === -1 ? [] : [`flags.fail = ${i === failing};`]),
      ...form.turn(n, dice.below(20)),
    ];
  });
  const text = JSON.stringify([setup, calls]);
  return {
    training: true,
    seed,
    device,
    dynamic: dice.chance(0.75) ? null : dice.chance(0.5),
    setup,
    calls: text.includes('kept.push') ? calls.map((call) => call.map(untidied)) : calls,
  };
}

/** The training loop of a seed: the first candidate that `runs`. */
export async function drawTraining(
  seed: number,
  devices: readonly FuzzDevice[],
  runs: (program: TrainingProgram) => Promise<boolean>,
): Promise<TrainingProgram> {
  const dice = new Dice(seed ^ TRAINING_SEED);
  dice.chance(CHANCE);
  for (;;) {
    const device = devices.includes('wgpu') && dice.chance(0.6) ? 'wgpu' : 'cpu';
    const program = draw(seed, dice, device);
    if (await runs(program)) return program;
  }
}
