/**
 * @file Training steps of a multi-layer perceptron in double precision and plain JavaScript: the reference
 * of `mlp_train_step`.
 */

/** Weights as PyTorch lays them out: [out, in] and [out] for each layer, one after the other. */
export type Parameters = readonly Float64Array[];

/** Shape of the network and its training. */
export interface MlpSetting {
  /** Widths from the input to the logits; ReLU between layers. */
  readonly widths: readonly number[];
  readonly batch: number;
  readonly learningRate: number;
}

/**
 * One step of gradient descent on the mean cross entropy. Changes the parameters; returns the loss before.
 *
 * @param images [batch, widths[0]]
 * @param labels class numbers, [batch]
 */
export function mlpStep(
  { widths, batch, learningRate }: MlpSetting,
  parameters: Parameters,
  images: ArrayLike<number>,
  labels: ArrayLike<number>,
): number {
  const layers = widths.length - 1;
  // activations[l] is the input of layer l, [batch, widths[l]].
  const activations: ArrayLike<number>[] = [images];
  for (let l = 0; l < layers; l++) {
    const [inputs, outputs] = [widths[l]!, widths[l + 1]!];
    const out = new Float64Array(batch * outputs);
    const source = activations[l]!;
    const weight = parameters[2 * l]!;
    const bias = parameters[2 * l + 1]!;
    for (let n = 0; n < batch; n++) {
      for (let o = 0; o < outputs; o++) {
        let sum = bias[o]!;
        for (let i = 0; i < inputs; i++) sum += source[n * inputs + i]! * weight[o * inputs + i]!;
        out[n * outputs + o] = l === layers - 1 ? sum : Math.max(sum, 0);
      }
    }
    activations.push(out);
  }

  const classCount = widths[layers]!;
  let gradient = new Float64Array(batch * classCount);
  let loss = 0;
  for (let n = 0; n < batch; n++) {
    const row = Array.from(
      { length: classCount },
      (_, c) => activations[layers]![n * classCount + c]!,
    );
    const largest = Math.max(...row);
    const sum = row.reduce((total, value) => total + Math.exp(value - largest), 0);
    loss += (largest + Math.log(sum) - row[labels[n]!]!) / batch;
    row.forEach((value, c) => {
      const share = Math.exp(value - largest) / sum;
      gradient[n * classCount + c] = (share - (c === labels[n] ? 1 : 0)) / batch;
    });
  }

  for (let l = layers - 1; l >= 0; l--) {
    const [inputs, outputs] = [widths[l]!, widths[l + 1]!];
    const source = activations[l]!;
    const weight = parameters[2 * l]!;
    const bias = parameters[2 * l + 1]!;
    const below = new Float64Array(batch * inputs);
    const step = new Float64Array(weight.length);
    for (let n = 0; n < batch; n++) {
      for (let o = 0; o < outputs; o++) {
        const g = gradient[n * outputs + o]!;
        if (g === 0) continue;
        bias[o]! -= learningRate * g;
        for (let i = 0; i < inputs; i++) {
          const value = source[n * inputs + i]!;
          step[o * inputs + i]! += g * value;
          if (l > 0 && value > 0) below[n * inputs + i]! += g * weight[o * inputs + i]!;
        }
      }
    }
    for (let i = 0; i < weight.length; i++) weight[i]! -= learningRate * step[i]!;
    gradient = below;
  }
  return loss;
}
