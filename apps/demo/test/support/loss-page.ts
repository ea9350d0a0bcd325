/**
 * @file The page of the test of a lost device: trains, loses the device in the middle, goes on from a checkpoint.
 */
import { compile, initWebGpu } from '@tessera/compile';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type TesseraError, counters } from '@tessera/shared';
import { type Tensor, download, manualSeed, randint, randn } from '@tessera/tensor';

/** What the page found. */
export interface LossResult {
  /** Losses of six steps in one go, and of three, a loss of the device, and three. */
  readonly whole: readonly number[];
  readonly interrupted: readonly number[];
  /** Codes: what the listener heard, what a call with tensors that are gone threw. */
  readonly codes: readonly [heard: string, thrown: string];
  /** Graphs compiled after the loss. */
  readonly compiled: number;
  readonly error?: string;
}

async function main(): Promise<LossResult> {
  const gpu = await initWebGpu();
  manualSeed(0);
  const model = new Sequential(new Linear(12, 16), new ReLU(), new Linear(16, 4)).to('wgpu');
  const [data, labels] = [randn([8, 12]), randint(0, 4, [8])];
  const step = compile((x: Tensor, y: Tensor) => {
    const loss = F.crossEntropy(model.call(x) as Tensor, y);
    loss.backward();
    return loss;
  });
  let inputs = [data.to('wgpu'), labels.to('wgpu')] as const;
  const train = async (steps: number): Promise<number[]> => {
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const losses: number[] = [];
    for (let i = 0; i < steps; i++) {
      optimizer.zeroGrad();
      const loss = step(...inputs);
      optimizer.step();
      losses.push(Number(await loss.item()));
    }
    return losses;
  };
  const checkpoint = async (): Promise<Record<string, Tensor>> => {
    const saved: Record<string, Tensor> = {};
    for (const [name, value] of Object.entries(model.stateDict()))
      saved[name] = await download((value as Tensor).detach());
    return saved;
  };
  const restore = (saved: Record<string, Tensor>): void => void model.loadStateDict(saved);
  const start = await checkpoint();
  const whole = await train(6);
  restore(start);
  const first = await train(3);
  const saved = await checkpoint();

  const heard = new Promise<TesseraError>((resolve) => gpu.onLost(resolve));
  gpu.device.destroy();
  const { code } = await heard;
  const thrown = await train(1).then(
    () => 'nothing',
    (error: TesseraError) => error.code,
  );
  await initWebGpu();
  const before = counters.get('inductor')['graphs'] ?? 0;
  model.loadStateDict(
    Object.fromEntries(Object.entries(saved).map(([name, value]) => [name, value.to('wgpu')])),
    { assign: true },
  );
  inputs = [data.to('wgpu'), labels.to('wgpu')];
  const interrupted = [...first, ...(await train(3))];
  const compiled = (counters.get('inductor')['graphs'] ?? 0) - before;
  return { whole, interrupted, codes: [code, thrown], compiled };
}

main().then(
  (result) => Object.assign(globalThis, { tesseraResult: result }),
  (error: unknown) =>
    Object.assign(globalThis, {
      tesseraResult: {
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      },
    }),
);
