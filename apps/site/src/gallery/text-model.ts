/**
 * @file A GPT in miniature: reads characters, writes more of them, and learns from any text it is given.
 */
import { compile } from '@tessera/compile';
import {
  Embedding,
  LayerNorm,
  Linear,
  Module,
  ModuleList,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, arange, manualSeed, noGrad, tensor } from '@tessera/tensor';

const [CONTEXT, WIDTH, HEADS, LAYERS, BATCH] = [48, 64, 4, 2, 16];

/** A line break and printable ASCII: what a text holds beside them reads as a space. */
const CHARACTERS = ['\n', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];
const NUMBERS = new Map(CHARACTERS.map((character, i) => [character, i]));

const encode = (text: string): number[] => [...text].map((c) => NUMBERS.get(c) ?? 1);

class Block extends Module {
  norm1 = new LayerNorm(WIDTH);
  qkv = new Linear(WIDTH, 3 * WIDTH);
  out = new Linear(WIDTH, WIDTH);
  norm2 = new LayerNorm(WIDTH);
  up = new Linear(WIDTH, 4 * WIDTH);
  down = new Linear(4 * WIDTH, WIDTH);

  forward(x: Tensor): Tensor {
    const [B, T] = x.shape as [number, number];
    const [q, k, v] = this.qkv
      .call(this.norm1.call(x))
      .split(WIDTH, 2)
      .map((t) => t.view([B, T, HEADS, WIDTH / HEADS]).transpose(1, 2)) as [Tensor, Tensor, Tensor];
    const seen = F.scaledDotProductAttention(q, k, v, { isCausal: true });
    const y = x.add(this.out.call(seen.transpose(1, 2).reshape([B, T, WIDTH])));
    return y.add(this.down.call(F.gelu(this.up.call(this.norm2.call(y)))));
  }
}

/** Characters [B, T] in, logits of the next ones [B, T, 96] out. */
class Gpt extends Module {
  characters = new Embedding(CHARACTERS.length, WIDTH);
  places = new Embedding(CONTEXT, WIDTH);
  blocks = new ModuleList(Array.from({ length: LAYERS }, () => new Block()));
  norm = new LayerNorm(WIDTH);
  head = new Linear(WIDTH, CHARACTERS.length);

  forward(text: Tensor): Tensor {
    let x = this.characters.call(text).add(this.places.call(arange(text.shape[1]!)));
    for (const block of this.blocks) x = block.call(x);
    return this.head.call(this.norm.call(x));
  }
}

/** See the file header. */
export class Writer {
  private readonly step: (x: Tensor, y: Tensor) => Tensor;
  private readonly next: (text: Tensor) => Tensor;

  constructor() {
    manualSeed(0);
    const model = new Gpt();
    const optimizer = new optim.AdamW(model.parameters(), { lr: 2e-3 });
    // The whole step is one compiled function: forward, backward and update.
    this.step = compile((x: Tensor, y: Tensor): Tensor => {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.call(x).flatten(0, 1), y.flatten());
      loss.backward();
      optimizer.step();
      return loss;
    });
    this.next = compile((text: Tensor): Tensor => model.call(text).softmax(-1));
  }

  /** Learns from a text; `tell` hears the loss after every step. */
  learn(text: string, steps: number, tell: (step: number, loss: number) => void): void {
    const data = encode(text.length > CONTEXT + 1 ? text : text.padEnd(CONTEXT + 2));
    const stretch = (at: number): number[] => data.slice(at, at + CONTEXT);
    for (let step = 0; step < steps; step++) {
      const starts = Array.from({ length: BATCH }, () =>
        Math.floor(Math.random() * (data.length - CONTEXT)),
      );
      const x = tensor(starts.map(stretch), { dtype: 'int64' });
      const y = tensor(
        starts.map((at) => stretch(at + 1)),
        { dtype: 'int64' },
      );
      tell(step, this.step(x, y).item() as number);
    }
  }

  /** Writes after `start`; `tell` hears each character. */
  write(start: string, count: number, tell: (character: string) => void): void {
    const text = encode(start === '' ? '\n' : start);
    noGrad(() => {
      for (let i = 0; i < count; i++) {
        // Always as many characters, so that one compiled function serves: what follows the last is not looked at.
        const seen = text.slice(-CONTEXT);
        const padded = [...seen, ...new Array<number>(CONTEXT - seen.length).fill(0)];
        const likely = this.next(tensor([padded], { dtype: 'int64' })).select(1, seen.length - 1);
        const drawn = likely.multinomial(1).item() as number;
        text.push(drawn);
        tell(CHARACTERS[drawn]!);
      }
    });
  }
}
