/**
 * @file Rows of whole models, in the shapes that PyTorch was measured with.
 */
import { compile } from '@tessera/compile';
import { LSTM, Linear, ReLU, Sequential, functional as F, optim, skipInit } from '@tessera/nn';
import { CausalLM, StaticCache, makeQuantized, readConfig } from '@tessera/transformers';
import { type DType, type Tensor, noGrad, randint, tensor } from '@tessera/tensor';
import { GENERATE_MODELS, withLayers } from '../generate/models.js';
import { Gpt2, ResNet18 } from '../tracer/networks.js';
import { type CardWorkload, normal } from './card-workload.js';

/** A step that trains a model, as one compiled function. */
function trainingStep(
  optimizer: optim.Optimizer,
  lossOf: (x: Tensor, y: Tensor) => Tensor,
): (x: Tensor, y: Tensor) => Tensor {
  return compile((x: Tensor, y: Tensor) => {
    optimizer.zeroGrad();
    const loss = lossOf(x, y);
    loss.backward();
    optimizer.step();
    return loss;
  });
}

function gpt2(isSmall: boolean, length: number): { model: Gpt2; vocabulary: number } {
  const vocabulary = isSmall ? 64 : 50257;
  const model = isSmall
    ? new Gpt2(2, 32, 2, vocabulary, length)
    : new Gpt2(12, 768, 12, vocabulary, length);
  return { model: model.to('wgpu') as Gpt2, vocabulary };
}

/** A language model whose random weights are drawn on the device. */
function languageModel(isSmall: boolean, dtype: DType): CausalLM {
  const given = GENERATE_MODELS.find(({ name }) => name === (isSmall ? 'small' : 'llama1b'))!;
  const { config } = isSmall ? withLayers(given, 1) : given;
  const model = skipInit(() => new CausalLM(readConfig(config)));
  const values = Object.entries(model.stateDict()).map(([name, { shape }]) => {
    const drawn = normal(shape, dtype);
    const scaled = drawn.mul(0.02);
    drawn.dispose();
    return [name, scaled];
  });
  model.loadStateDict(Object.fromEntries(values) as Record<string, Tensor>, { assign: true });
  return model.eval() as CausalLM;
}

/** Makes its matrices whole numbers of 4 or 8 bits, the same one everywhere, and its tables 8. */
function rounded(model: CausalLM, bits: 4 | 8): void {
  const embeddings = { bits: 8 } as const;
  makeQuantized(model, bits === 8 ? { bits, embeddings } : { bits, group: 64, embeddings });
  for (const buffer of model.buffers())
    if (buffer.dtype === 'int32') buffer.fill_(0x35a7_9c21);
    else buffer.fill_(0.001);
}

function decode(dtype: DType, goal: number | null, bits?: 4 | 8): CardWorkload {
  const weights = bits === undefined ? dtype : `int${bits}`;
  return {
    name: `llama1b_decode_${weights}`,
    about: `a token of Llama 3.2 1B, static cache of 1024, ${weights}`,
    goal,
    prepare(isSmall) {
      const model = languageModel(isSmall, dtype);
      if (bits !== undefined) rounded(model, bits);
      const cache = new StaticCache(model.config, isSmall ? 32 : 1024, {
        batch: 1,
        dtype,
        device: 'wgpu',
      });
      const step = compile((ids: Tensor, places: Tensor) =>
        model.at(ids, places, { cache }).argmax(-1),
      );
      const ids = tensor([[7]], { dtype: 'int64', device: 'wgpu' });
      const places = tensor([isSmall ? 9 : 512], { dtype: 'int64', device: 'wgpu' });
      return () => noGrad(() => step(ids, places).dispose());
    },
  };
}

/** See the file header. */
export const MODEL_ROWS: readonly CardWorkload[] = [
  {
    name: 'mlp_train_step',
    about: '784-512-256-10, SGD, batch 128',
    goal: 150,
    prepare(isSmall) {
      const [a, b, c, d] = (isSmall ? [16, 12, 8, 4] : [784, 512, 256, 10]) as [
        number,
        number,
        number,
        number,
      ];
      const model = new Sequential(
        new Linear(a, b),
        new ReLU(),
        new Linear(b, c),
        new ReLU(),
        new Linear(c, d),
      );
      model.to('wgpu');
      const step = trainingStep(new optim.SGD(model.parameters(), { lr: 0.01 }), (x, y) =>
        F.crossEntropy(model.call(x) as Tensor, y),
      );
      const batch = isSmall ? 4 : 128;
      const [x, y] = [normal([batch, a]), randint(0, d, [batch], { device: 'wgpu' })];
      return () => step(x, y).dispose();
    },
  },
  {
    name: 'gpt2_forward',
    about: 'GPT-2 124M, 1×512',
    goal: 4200,
    prepare(isSmall) {
      const length = isSmall ? 8 : 512;
      const { model, vocabulary } = gpt2(isSmall, length);
      model.eval();
      const ids = randint(0, vocabulary, [1, length], { device: 'wgpu' });
      const run = compile((x: Tensor) => model.call(x));
      return () => noGrad(() => run(ids).dispose());
    },
  },
  {
    name: 'gpt2_train_step',
    about: 'GPT-2 124M, AdamW, 4×256',
    goal: 23300,
    prepare(isSmall) {
      const length = isSmall ? 8 : 256;
      const { model, vocabulary } = gpt2(isSmall, length);
      const ids = randint(0, vocabulary, [isSmall ? 2 : 4, length], { device: 'wgpu' });
      const step = trainingStep(new optim.AdamW(model.parameters(), { lr: 1e-4 }), (x, y) =>
        F.crossEntropy(
          model
            .call(x)
            .narrow(1, 0, length - 1)
            .reshape([-1, vocabulary]),
          y.narrow(1, 1, length - 1).reshape([-1]),
        ),
      );
      return () => step(ids, ids).dispose();
    },
  },
  {
    name: 'resnet18_forward',
    about: '16×3×224², inference',
    goal: null,
    prepare(isSmall) {
      const model = new ResNet18(isSmall ? 4 : 64).to('wgpu').eval() as ResNet18;
      const x = normal(isSmall ? [1, 3, 32, 32] : [16, 3, 224, 224]);
      const run = compile((images: Tensor) => model.call(images));
      return () => noGrad(() => run(x).dispose());
    },
  },
  {
    name: 'lstm_forward',
    about: 'two layers both ways, 92×4×64',
    goal: 700,
    prepare(isSmall) {
      const model = new LSTM(isSmall ? 8 : 64, isSmall ? 8 : 64, {
        numLayers: 2,
        bidirectional: true,
      });
      model.to('wgpu');
      const x = normal(isSmall ? [5, 2, 8] : [92, 4, 64]);
      const run = compile((sequence: Tensor) => model.call(sequence)[0]);
      return () => noGrad(() => run(x).dispose());
    },
  },
  decode('float16', 1000),
  decode('bfloat16', null),
  decode('float32', null),
  decode('float16', null, 8),
  decode('float16', 500, 4),
];
