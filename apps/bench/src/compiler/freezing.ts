/**
 * @file `pnpm bench freezing`: three conv–bn–relu layers with parameters as inputs, as constants, and as
 * constants with channels last.
 *
 * The variants take turns. Wall time says what a user waits for; CPU time stays the same when other
 * programs want the machine too.
 */
import { compile } from '@tessera/compile';
import { BatchNorm2d, Conv2d, ReLU, Sequential } from '@tessera/nn';
import { type Tensor, noGrad, randn } from '@tessera/tensor';

/** Times of one variant; medians, in ms per call. */
export interface FreezingTime {
  readonly name: string;
  readonly shapes: string;
  readonly wallMs: number;
  readonly cpuMs: number;
}

const VARIANTS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  plain: {},
  frozen: { freezing: true, layoutOptimization: false },
  'frozen, channels last': { freezing: true, forceLayoutOptimization: true },
};

const ROUNDS = 15;
const CHANNELS = 64;
const SIZES = [2, CHANNELS, 56, 56];

function layers(): Sequential {
  const block = (): (Conv2d | BatchNorm2d | ReLU)[] => [
    new Conv2d(CHANNELS, CHANNELS, 3, { padding: 1, bias: false }),
    new BatchNorm2d(CHANNELS),
    new ReLU(),
  ];
  return new Sequential(...block(), ...block(), ...block()).eval();
}

/** Measures all variants. */
export function freezingTimes(rounds: number = ROUNDS): FreezingTime[] {
  const model = layers();
  const x = randn(SIZES);
  const samples = Object.entries(VARIANTS).map(([name, options]) => {
    const run = compile((input: Tensor) => model.call(input) as Tensor, { options });
    return { name, run, wall: [] as number[], cpu: [] as number[] };
  });
  noGrad(() => {
    for (const { run } of samples) for (let i = 0; i < 2; i++) run(x).dispose();
    for (let round = 0; round < rounds; round++)
      for (const { run, wall, cpu } of samples) {
        const usage = process.cpuUsage();
        const start = performance.now();
        run(x).dispose();
        wall.push(performance.now() - start);
        const { user, system } = process.cpuUsage(usage);
        cpu.push((user + system) / 1000);
      }
  });
  const shapes = `3 × conv 3×3, bn, relu on [${SIZES.join(', ')}]`;
  return samples.map(({ name, wall, cpu }) => ({
    name,
    shapes,
    wallMs: median(wall),
    cpuMs: median(cpu),
  }));
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}
