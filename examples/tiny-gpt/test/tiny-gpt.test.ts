/**
 * @file The example trains, in eager and compiled, and resumes as if it had not been interrupted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, explain } from '@tessera/compile';
import { explainTree } from '@tessera/compile/exploration';
import { manualSeed } from '@tessera/tensor';
import { afterAll, describe, expect, it } from 'vitest';
import { type Training, resume, save } from '../src/checkpoint.js';
import { DEFAULT_TEXT, readText } from '../src/files.js';
import { GPT, generate } from '../src/model.js';
import { readOptions } from '../src/options.js';
import { getBatch } from '../src/text.js';
import { configure, evaluate, trainingStep } from '../src/train.js';

const folder = mkdtempSync(join(tmpdir(), 'tiny-gpt-'));
afterAll(() => rmSync(folder, { recursive: true }));

const text = readText(DEFAULT_TEXT);
const SIZES = { blockSize: 16, layers: 2, heads: 2, width: 32, dropout: 0.1 };
const CONFIG = {
  batchSize: 4,
  maxSteps: 40,
  warmupSteps: 4,
  lr: 3e-3,
  minLr: 3e-4,
  weightDecay: 0.1,
  gradClip: 1,
};

function start(seed: number): Training {
  manualSeed(seed);
  return configure(new GPT({ vocabSize: text.chars.length, ...SIZES }), CONFIG);
}

type Step = ReturnType<typeof trainingStep>;
const eager = (training: Training): Step => trainingStep(training, CONFIG);
const compiled = (training: Training): Step => compile(eager(training), { fullgraph: true });

function run({ scheduler }: Training, step: Step, steps: number): number[] {
  return Array.from({ length: steps }, () => {
    const [x, y] = getBatch(text.train, CONFIG.batchSize, SIZES.blockSize);
    const loss = step(x, y).item();
    scheduler.step();
    return loss;
  });
}

describe('tiny GPT', () => {
  it.each([
    ['eager', eager],
    ['compiled', compiled],
  ])('%s: resumes to identical losses', async (name, make) => {
    const whole = start(1);
    const step = make(whole);
    const before = run(whole, step, 6);
    const file = join(folder, `${name}.safetensors`);
    await save(file, whole, 6);
    const after = run(whole, step, 6);

    // A new run with other weights, another random state: everything comes from the file.
    const resumed = start(2);
    expect(await resume(file, resumed)).toBe(6);
    expect(run(resumed, make(resumed), 6)).toEqual(after);
    expect(resumed.scheduler.getLastLr()).toEqual(whole.scheduler.getLastLr());
    expect(after[5]).toBeLessThan(before[0]!);
  });

  it('a checkpoint of an eager run goes on compiled, with the same losses', async () => {
    const whole = start(3);
    run(whole, eager(whole), 3);
    const file = join(folder, 'mixed.safetensors');
    await save(file, whole, 3);
    const after = run(whole, eager(whole), 5);
    const resumed = start(4);
    await resume(file, resumed);
    run(resumed, compiled(resumed), 5).forEach((loss, i) =>
      expect(Math.abs(loss / after[i]! - 1)).toBeLessThan(1e-5),
    );
  });

  it('compiles the whole step to one graph, once, whatever the learning rate and the step', () => {
    const training = start(5);
    const step = compiled(training);
    run(training, step, 12);
    const [x, y] = getBatch(text.train, CONFIG.batchSize, SIZES.blockSize);
    const told = explain(step)(x, y);
    expect([told.graphCount, told.graphBreakCount, told.traceCount]).toEqual([1, 0, 1]);
    expect(told.recompileReasons).toEqual([]);
    expect(told.guardCounts).toMatchObject({ GLOBAL_STATE: 1, TENSOR_MATCH: 2 });
    expect(told.kernelCount).toBeGreaterThan(10);
    expect(told.kernelCount).toBeLessThan(told.opCount);
    const tree = explainTree(told);
    expect(tree).toContain('trainStep: 1 trace, 1 graph, 0 graph breaks');
    expect(tree).toContain('generate and load code');
  });

  it('decays matrices only, warms up, and then follows the cosine down', () => {
    const { optimizer, scheduler, model } = start(6);
    const [decay, noDecay] = optimizer.paramGroups;
    expect(decay!.params.every((p) => p.ndim >= 2)).toBe(true);
    expect(noDecay!.params.every((p) => p.ndim < 2)).toBe(true);
    expect(decay!.params.length + noDecay!.params.length).toBe(model.parameters().length);
    const rates = Array.from({ length: CONFIG.maxSteps }, () => {
      const rate = scheduler.getLastLr()[0]!;
      scheduler.step();
      return rate;
    });
    expect(rates[0]).toBeCloseTo(0.01 * CONFIG.lr);
    expect(Math.max(...rates)).toBeCloseTo(CONFIG.lr);
    expect(rates.indexOf(Math.max(...rates))).toBe(CONFIG.warmupSteps);
    expect(scheduler.getLastLr()[0]).toBeCloseTo(CONFIG.minLr);
  });

  it('writes as many characters as asked, of those it knows, the same from the same seed', () => {
    const { model } = start(7);
    model.eval();
    const write = (): string => {
      manualSeed(8);
      const out = generate(model, text.encode('\n').view([1, 1]), 40);
      return text.decode((out.toArray() as number[][])[0]!);
    };
    const written = write();
    expect(written).toHaveLength(41);
    expect(write()).toBe(written);
    expect(evaluate(model, text, CONFIG.batchSize, 1)).toBeGreaterThan(0);
  });

  it('reads its command line', () => {
    expect(
      readOptions(['--compile', '--steps', '7', '--resume', 'a.safetensors', '--export', 'gpt']),
    ).toMatchObject({
      compile: true,
      steps: 7,
      resume: 'a.safetensors',
      export: 'gpt',
    });
    expect(() => readOptions(['--steps', 'many'])).toThrow("--steps takes a number, not 'many'");
    expect(readOptions(['--help'])).toBeNull();
  });
});
