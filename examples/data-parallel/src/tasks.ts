/**
 * @file What is trained: digits by a small network, and a character-level GPT on a text.
 *
 * A task gives the whole batch of a step; each rank takes its rows.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { ZeroRedundancyOptimizer } from '@tessera/distributed';
import {
  Embedding,
  Flatten,
  Linear,
  Module,
  ReLU,
  Sequential,
  TransformerEncoderLayer,
  functional as F,
  optim,
} from '@tessera/nn';
import {
  type Tensor,
  arange,
  full,
  manualSeed,
  parseSafetensors,
  stack,
  tensor,
} from '@tessera/tensor';

/** A model whose call takes one tensor, and its data. */
export interface Task {
  readonly model: Module & { forward(x: Tensor): Tensor };
  /** Each rank keeps the state of its share of the parameters. */
  optimizer(params: readonly Tensor[]): ZeroRedundancyOptimizer;
  /** Inputs and labels of a step, all ranks' together. */
  batch(step: number): [Tensor, Tensor];
  loss(output: Tensor, labels: Tensor): Tensor;
}

/** Names of the tasks. */
export type TaskName = 'digits' | 'gpt';

const DIGITS = new URL('../../../apps/demo/data/digits.safetensors.gz', import.meta.url);
const TEXT = new URL('../../tiny-gpt/data/text.txt', import.meta.url);

/** Makes a task; the same on every rank. */
export function makeTask(name: TaskName): Task {
  manualSeed(1337);
  return name === 'digits' ? digits() : gpt();
}

/** 8×8 images, 64 a step. */
function digits(): Task {
  const file = parseSafetensors(gunzipSync(readFileSync(DIGITS)));
  const images = file.images_u8!.to('float32').div(16);
  const labels = file.labels!.to('int64');
  const size = 64;
  const steps = Math.floor(images.sizes[0]! / size);
  return {
    model: new Sequential(new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10)),
    optimizer: (params) => new ZeroRedundancyOptimizer(params, optim.AdamW, { lr: 0.01 }),
    batch(step) {
      const from = (step % steps) * size;
      return [images.narrow(0, from, size), labels.narrow(0, from, size)];
    },
    loss: (output, wanted) => F.crossEntropy(output, wanted),
  };
}

const CONTEXT = 32;

class GPT extends Module {
  readonly token: Embedding;
  readonly position = new Embedding(CONTEXT, 64);
  readonly first = new TransformerEncoderLayer(64, 4, BLOCK);
  readonly second = new TransformerEncoderLayer(64, 4, BLOCK);
  readonly head: Linear;

  constructor(characters: number) {
    super();
    this.token = new Embedding(characters, 64);
    this.head = new Linear(64, characters, { bias: false });
  }

  forward(x: Tensor): Tensor {
    const length = x.shape[1]!;
    const mask = full([length, length], -Infinity).triu(1);
    const places = this.position.call(arange(length));
    let h = this.token.call(x).add(places);
    h = this.first.call(h, { srcMask: mask });
    h = this.second.call(h, { srcMask: mask });
    return this.head.call(h);
  }
}

const BLOCK = { dimFeedforward: 128, dropout: 0, batchFirst: true, normFirst: true };

/** Stretches of 32 characters, 8 a step. */
function gpt(): Task {
  const text = readFileSync(TEXT, 'utf8');
  const chars = [...new Set(text)].sort();
  const data = tensor(
    [...text].map((char) => chars.indexOf(char)),
    { dtype: 'int64' },
  );
  const size = 8;
  return {
    model: new GPT(chars.length),
    // The bias of the keys has no gradient but rounding errors, which Adam would make as large as any.
    optimizer: (params) =>
      new ZeroRedundancyOptimizer(params, optim.SGD, { lr: 0.1, momentum: 0.9 }),
    batch(step) {
      const starts = Array.from({ length: size }, (_, i) => ((step * size + i) * 97) % 15000);
      return [
        stack(starts.map((at) => data.narrow(0, at, CONTEXT))),
        stack(starts.map((at) => data.narrow(0, at + 1, CONTEXT))),
      ];
    },
    loss: (output, wanted) => F.crossEntropy(output.flatten(0, 1), wanted.flatten()),
  };
}
