/**
 * @file What `compile_time` compiles: whole models, forward and backward, or a whole training step.
 *
 * Small sizes: the graphs are those of the models, and what they compute costs next to nothing.
 */
import type { CompileOptions } from '@tessera/compile';
import type { Module } from '@tessera/nn';
import { type Tensor, manualSeed, randint, randn, tensor } from '@tessera/tensor';

/** A program to compile, and how to run it once. */
export interface CompileCase {
  readonly fn: (input: Tensor) => Tensor;
  readonly input: Tensor;
  readonly options?: CompileOptions;
  /** Runs what follows the compiled function: a backward outside it. */
  readonly after: (result: Tensor) => void;
}

/** A model whose compilation is timed. */
export interface CompileSubject {
  readonly name: string;
  readonly about: string;
  readonly shapes: string;
  readonly make: () => Promise<CompileCase>;
}

/** The group name that selects all of them. */
export const COMPILE_TIME = 'compile_time';

const resultOf = (model: Module, input: Tensor): Tensor => {
  const result = (model as { call(x: Tensor): unknown }).call(input);
  return (Array.isArray(result) ? result[0] : result) as Tensor;
};

/** A model of the test kit. */
async function recorded(name: string): Promise<{
  readonly model: Module;
  readonly record: (typeof import('@tessera/testkit').recordedModels)[number];
}> {
  // Loaded here: other workloads start without it.
  const { recordedModels } = await import('@tessera/testkit');
  const record = recordedModels.find((model) => model.name === name)!;
  manualSeed(0);
  return { model: record.build(), record };
}

/** Forward in the compiled function, backward after it. */
function forwardAndBackward(name: string, input: () => Tensor): CompileSubject['make'] {
  return async () => {
    const { model } = await recorded(name);
    return {
      fn: (x) => resultOf(model, x).sum(),
      input: input(),
      after: (loss) => loss.backward(),
    };
  };
}

/** Forward, backward and update in the compiled function. */
function trainingStep(name: string, input: () => Tensor): CompileSubject['make'] {
  return async () => {
    const { model, record } = await recorded(name);
    const optimizer = record.optimizer!(model);
    return {
      fn: (x) => {
        optimizer.zeroGrad();
        const loss = record.loss(resultOf(model, x), x, { target: null });
        loss.backward();
        optimizer.step();
        return loss;
      },
      input: input(),
      after: () => {},
    };
  };
}

export const COMPILE_SUBJECTS: readonly CompileSubject[] = [
  {
    name: 'compile_time_tiny',
    about: 'x * 2 + 1, the first call of a page',
    shapes: '[4]',
    make: () =>
      Promise.resolve({
        fn: (x: Tensor) => x.mul(2).add(1),
        input: tensor([1, 2, 3, 4]),
        after: (result: Tensor) => void result.toArray(),
      }),
  },
  {
    name: 'compile_time_gpt2',
    about: 'training step of a GPT-2 of two layers, AdamW',
    shapes: '[2, 16]',
    make: trainingStep('gpt2_tiny', () => randint(0, 257, [2, 16])),
  },
  {
    name: 'compile_time_resnet',
    about: 'forward and backward of a small ResNet',
    shapes: '[2, 3, 32, 32]',
    make: forwardAndBackward('test_resnet', () => randn([2, 3, 32, 32])),
  },
  {
    name: 'compile_time_efficientnet',
    about: 'forward and backward of a small EfficientNet',
    shapes: '[2, 3, 32, 32]',
    make: forwardAndBackward('test_efficientnet', () => randn([2, 3, 32, 32])),
  },
  {
    name: 'compile_time_lstm',
    about: 'forward and backward of a bidirectional LSTM of two layers, unrolled',
    shapes: '[92, 4, 64]',
    make: forwardAndBackward('lstm', () => randn([92, 4, 64])),
  },
];
