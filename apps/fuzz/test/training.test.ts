/**
 * @file Training loops: what is drawn, that they behave compiled as they do eagerly, and that faults which only several
 * steps show are found, minimised and printed.
 */
import { registerBackend, reset } from '@tessera/compile';
import type { Tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { minimiseTraining } from '../src/minimise.js';
import { DEFAULT_BACKENDS } from '../src/options.js';
import { runFuzz } from '../src/run.js';
import { type TrainingMismatch, checkTraining, trainingRuns } from '../src/training/check.js';
import { type TrainingProgram, linesOf, smallerTraining } from '../src/training/code.js';
import { drawTraining, isTraining } from '../src/training/draw.js';
import { runText } from './run-printed.js';
import { printTraining } from '../src/training/print.js';

function drawn(seed: number): Promise<TrainingProgram> {
  return drawTraining(seed, ['cpu'], trainingRuns);
}

function textOf({ setup, calls }: TrainingProgram): string {
  return [...linesOf(setup), ...calls.flatMap((call) => linesOf(call))].join('\n');
}

describe('training loops', () => {
  it.each([0, 3000])(
    'of 8 seeds from %i behave compiled as eagerly',
    { timeout: 240_000 },
    async (seed) => {
      const found: string[] = [];
      const options = { n: 8, backends: DEFAULT_BACKENDS, extras: {}, dynamic: false } as const;
      await runFuzz({ ...options, seed, training: true, devices: ['cpu'] }, (file) =>
        found.push(file),
      );
      expect(found.join('\n')).toBe('');
    },
  );

  it('are some of the programs, and the same for the same seed', async () => {
    const share = Array.from({ length: 1000 }, (_, seed) => isTraining(seed)).filter(
      Boolean,
    ).length;
    expect(share).toBeGreaterThan(100);
    expect(share).toBeLessThan(250);
    expect(await drawn(5)).toEqual(await drawn(5));
  });

  it(
    'have every form, and every kind of thing between the steps',
    { timeout: 240_000 },
    async () => {
      let text = '';
      // Not each of these runs: what is drawn is looked at.
      for (let seed = 0; seed < 500; seed++)
        text += textOf(await drawTraining(seed, ['cpu'], async () => true));
      const names =
        'LBFGS AdamW Adafactor StepLR SequentialLR GradScaler autocast clipGradNorm_ clipGradValue_ AveragedModel updateBn ' +
        'setToNone retainGraph true) Recurrent Tied Centered spectralNorm Dropout BatchNorm1d Parted critic.call ' +
        'otherOpt chunk createGraph registerPostAccumulateGradHook registerHook registerFullBackwardHook registerForwardHook ' +
        'requiresGrad_(false) group.lr addParamGroup loadStateDict serializeSafetensors cloneModule model.to(dtype) tidy( ' +
        'dispose?.() setRngState manualSeed model.eval() noGrad inferenceMode wrap(model) later( async Stop';
      for (const name of names.split(' ')) expect(text).toContain(name);
    },
  );

  it('get smaller line by line', async () => {
    const program = await drawn(1);
    const size = textOf(program).length;
    let count = 0;
    for (const smaller of smallerTraining({ ...program, dynamic: null })) {
      expect(textOf(smaller).length).toBeLessThan(size);
      count++;
    }
    expect(count).toBeGreaterThan(20);
  });

  it('print as files that run', { timeout: 120_000 }, async () => {
    for (const seed of [2, 3, 4]) {
      const file = printTraining({ program: await drawn(seed), backend: 'eager', text: '' });
      expect(await runText(file)).toBe('no difference');
    }
  });
});

describe('a fault in the third call of a graph', () => {
  const counts = new Map<object, number>();
  // From its third call on, a graph does what it did in its second: a state that is not looked at again.
  registerBackend('stale_third', (module) => {
    const graph = {};
    let before: Tensor[] = [];
    return (inputs) => {
      const count = (counts.get(graph) ?? 0) + 1;
      counts.set(graph, count);
      const outputs = module.forward(...inputs) as Tensor[];
      if (count < 3) before = outputs.map((t) => t.detach().clone());
      return outputs.map((t, i) =>
        count >= 3 && t.numel === 1 && t.dtype === 'float32' ? before[i]!.add(0).detach() : t,
      );
    };
  });

  it('is found, minimised, and printed as a file that shows it', { timeout: 240_000 }, async () => {
    let found: TrainingMismatch | null = null;
    // The first of them is small: to make one smaller takes most of the time.
    for (let seed = 15; seed < 40 && found === null; seed++) {
      found = await checkTraining(await drawn(seed), ['stale_third']);
      reset();
    }
    expect(found).not.toBeNull();
    const small = await minimiseTraining(found!);
    expect(textOf(small.program).length).toBeLessThan(textOf(found!.program).length * 0.7);
    expect(small.program.calls.length).toBeGreaterThan(0);
    expect(await runText(printTraining(small))).toContain('instead of');
  });
});
