/**
 * @file Reads digits, and goes on learning from what it is told it got wrong.
 */
import { compile } from '@tessera/compile';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, cat, manualSeed, noGrad, randint, tensor } from '@tessera/tensor';

const BATCH = 64;
/** Of a batch after a correction, so many are corrections. */
const OWN = 16;

/** Images [N, 64] with values 0…1, and labels [N]. */
export interface Digits {
  readonly images: Tensor;
  readonly labels: Tensor;
}

/** See the file header. */
export class DigitReader {
  private readonly model = new Sequential(new Linear(64, 128), new ReLU(), new Linear(128, 10));
  private readonly optimizer = new optim.AdamW(this.model.parameters(), { lr: 3e-3 });
  private readonly corrections: { pixels: readonly number[]; label: number }[] = [];

  /** Forward, backward and update are one compiled function. */
  private readonly step = compile((images: Tensor, labels: Tensor): Tensor => {
    this.optimizer.zeroGrad();
    const loss = F.crossEntropy(this.logits(images), labels);
    loss.backward();
    this.optimizer.step();
    return loss;
  });

  constructor(
    private readonly train: Digits,
    private readonly test: Digits,
  ) {
    manualSeed(0);
  }

  private logits(images: Tensor): Tensor {
    return this.model.call(images) as Tensor;
  }

  /** Passes over the digits; `tell` hears the step, and the share of unseen digits that is read right. */
  learn(epochs: number, tell: (step: number, accuracy: number) => void): void {
    const { images, labels } = this.train;
    let step = 0;
    for (let epoch = 0; epoch < epochs; epoch++) {
      for (let at = 0; at + BATCH <= labels.numel; at += BATCH, step++)
        this.step(images.narrow(0, at, BATCH), labels.narrow(0, at, BATCH));
      tell(step, this.accuracy());
    }
  }

  /** Share of the digits it was not trained on that are read right. */
  accuracy(): number {
    const read = noGrad(() => this.logits(this.test.images).argmax(1));
    return read.eq(this.test.labels).to('float32').mean().item() as number;
  }

  /** Probabilities of 0 to 9 for an image of 64 values 0…1. */
  read(pixels: readonly number[]): number[] {
    const image = tensor([...pixels]).view([1, 64]);
    return noGrad(() => F.softmax(this.logits(image), -1))
      .flatten()
      .toArray() as number[];
  }

  /** Learns that an image is this digit, among others so that it forgets none; what it reads then. */
  correct(pixels: readonly number[], label: number): number[] {
    this.corrections.push({ pixels, label });
    const own = Array.from({ length: OWN }, (_, i) =>
      this.corrections.at(-1 - (i % this.corrections.length))!,
    );
    const images = tensor(own.map((one) => [...one.pixels]));
    const labels = tensor(
      own.map((one) => one.label),
      { dtype: 'int64' },
    );
    for (let i = 0; i < 40; i++) {
      const others = randint(0, this.train.labels.numel, [BATCH - OWN]);
      this.step(
        cat([this.train.images.indexSelect(0, others), images]),
        cat([this.train.labels.indexSelect(0, others), labels]),
      );
    }
    return this.read(pixels);
  }
}
