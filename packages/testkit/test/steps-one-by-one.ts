/**
 * @file What layers of recurrent networks are compared with: their steps one by one.
 */
import type { GRU, LSTM, RNN } from '@tessera/nn';
import { type Tensor, cat, linear, stack, unbind, zeros } from '@tessera/tensor';
import { type CellState, recurrentStep } from '@tessera/tensor/internal';

export type Network = LSTM | GRU | RNN;

/** Output and last states of a network. */
export function outputs(network: Network): (x: Tensor) => Tensor[] {
  return (x) => {
    const run = network.call.bind(network) as (x: Tensor) => [Tensor, Tensor | [Tensor, Tensor]];
    const [output, last] = run(x);
    return [output, ...(Array.isArray(last) ? last : [last])];
  };
}

type States = readonly [hidden: Tensor, cell: Tensor | null];

/** The same in plain operators, a step after the other. */
export function stepByStep(network: Network): (x: Tensor) => Tensor[] {
  const kinds = { LSTM: 'lstm', GRU: 'gru', RNN: (network as RNN).nonlinearity } as const;
  const kind = kinds[network.constructor.name as keyof typeof kinds];
  const fields = network as unknown as Record<string, Tensor | undefined>;
  const direction = (x: Tensor, suffix: string): [output: Tensor, last: States] => {
    const of = (name: string): Tensor | null => fields[`${name}_${suffix}`] ?? null;
    const weights = { weightHh: of('weight_hh')!, biasHh: of('bias_hh') };
    const projection = of('weight_hr');
    const nothing = (size: number): Tensor => zeros([x.sizes[1]!, size], { device: x.device });
    let state: CellState = {
      hidden: nothing(weights.weightHh.sizes[1]!),
      cell: kind === 'lstm' ? nothing(network.hiddenSize) : null,
    };
    const inputs = unbind(linear(x, of('weight_ih')!, of('bias_ih')), 0);
    const isReverse = suffix.endsWith('reverse');
    const ordered = (list: readonly Tensor[]): Tensor[] =>
      isReverse ? [...list].reverse() : [...list];
    const outputs = ordered(inputs).map((input) => {
      const next = recurrentStep(kind, input, state, weights);
      const hidden = projection === null ? next.hidden : linear(next.hidden, projection);
      state = { ...next, hidden };
      return hidden;
    });
    return [stack(ordered(outputs)), [state.hidden, state.cell]];
  };
  return (x) => {
    let value = x;
    const last: States[] = [];
    for (let layer = 0; layer < network.numLayers; layer++) {
      const names = network.bidirectional ? [`l${layer}`, `l${layer}_reverse`] : [`l${layer}`];
      const outputs = names.map((suffix) => {
        const [output, states] = direction(value, suffix);
        last.push(states);
        return output;
      });
      value = cat(outputs, -1);
    }
    const hidden = stack(last.map(([each]) => each));
    return kind === 'lstm'
      ? [value, hidden, stack(last.map(([, each]) => each!))]
      : [value, hidden];
  };
}
