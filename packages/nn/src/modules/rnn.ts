/**
 * @file `RNN`, `LSTM` and `GRU`: recurrent networks over whole sequences.
 *
 * Sequences are [T, N, input], or [N, T, input] with `batchFirst`, or [T, input] without a batch; states
 * are [layers · directions, N, size]. Packed sequences (packed-sequence.ts) give packed outputs.
 */
import type { CalledAs, Forward } from '../module/module.js';
import { checkChoice, checkOptions } from '../module/check-options.js';
import type { Tensor } from '@tessera/tensor';
import type { PackedSequence } from './packed-sequence.js';
import { hiddenOf, statesOf } from './recurrent-states.js';
import { RNNBase, type RecurrentOptions } from './rnn-base.js';

/** Options of `RNN`. */
export interface RNNOptions extends RecurrentOptions {
  /** Default `tanh`. */
  readonly nonlinearity?: 'tanh' | 'relu';
}

/** h′ = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it. @see torch.nn.RNN */
export class RNN extends RNNBase {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof RNNOptions, true>> = {
    numLayers: true,
    nonlinearity: true,
    bias: true,
    batchFirst: true,
    dropout: true,
    bidirectional: true,
    device: true,
    dtype: true,
  };

  readonly nonlinearity: 'tanh' | 'relu';

  /** @throws invalid-argument */
  constructor(inputSize: number, hiddenSize: number, options: RNNOptions = {}) {
    checkOptions(new.target, options);
    const { nonlinearity = 'tanh', ...shared } = options;
    checkChoice(new.target.name, 'nonlinearity', nonlinearity, ['tanh', 'relu']);
    super(nonlinearity, inputSize, hiddenSize, shared);
    this.nonlinearity = nonlinearity;
  }

  /** The outputs of the last layer at all steps, and every layer's last state. @throws shape-mismatch */
  override forward(
    input: PackedSequence,
    hx?: Tensor | null,
  ): [output: PackedSequence, hidden: Tensor];
  override forward(input: Tensor, hx?: Tensor | null): [output: Tensor, hidden: Tensor];
  override forward(
    input: Tensor | PackedSequence,
    hx: Tensor | null = null,
  ): [output: Tensor | PackedSequence, hidden: Tensor] {
    const { output, last } = this.runAny(input, hiddenOf('RNN', hx));
    return [output, last.hidden];
  }

  /** Runs the module: hooks around `forward`. */
  override call(input: PackedSequence, hx?: Tensor | null): [output: PackedSequence, state: Tensor];
  override call<F extends Forward>(this: CalledAs<F>, ...args: Parameters<F>): ReturnType<F>;
  override call(...args: never[]): unknown {
    return super.call(...args);
  }
}

/** Gated recurrent units. @see torch.nn.GRU @see https://arxiv.org/abs/1406.1078 */
export class GRU extends RNNBase {
  /** @throws invalid-argument */
  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions = {}) {
    super('gru', inputSize, hiddenSize, options);
  }

  /** The outputs of the last layer at all steps, and every layer's last state. @throws shape-mismatch */
  override forward(
    input: PackedSequence,
    hx?: Tensor | null,
  ): [output: PackedSequence, hidden: Tensor];
  override forward(input: Tensor, hx?: Tensor | null): [output: Tensor, hidden: Tensor];
  override forward(
    input: Tensor | PackedSequence,
    hx: Tensor | null = null,
  ): [output: Tensor | PackedSequence, hidden: Tensor] {
    const { output, last } = this.runAny(input, hiddenOf('GRU', hx));
    return [output, last.hidden];
  }

  /** Runs the module: hooks around `forward`. */
  override call(input: PackedSequence, hx?: Tensor | null): [output: PackedSequence, state: Tensor];
  override call<F extends Forward>(this: CalledAs<F>, ...args: Parameters<F>): ReturnType<F>;
  override call(...args: never[]): unknown {
    return super.call(...args);
  }
}

/** Options of `LSTM`. */
export interface LSTMOptions extends RecurrentOptions {
  /** Size that hidden states are projected to (default 0: no projection). */
  readonly projSize?: number;
}

/** Long short-term memory. @see torch.nn.LSTM @see https://doi.org/10.1162/neco.1997.9.8.1735 */
export class LSTM extends RNNBase {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof LSTMOptions, true>> = {
    numLayers: true,
    bias: true,
    batchFirst: true,
    dropout: true,
    bidirectional: true,
    projSize: true,
    device: true,
    dtype: true,
  };

  /** @throws invalid-argument */
  constructor(inputSize: number, hiddenSize: number, options: LSTMOptions = {}) {
    checkOptions(new.target, options);
    const { projSize = 0, ...shared } = options;
    super('lstm', inputSize, hiddenSize, shared, projSize);
  }

  /** The outputs of the last layer at all steps, and every layer's last hidden and cell state. @throws shape-mismatch */
  override forward(
    input: PackedSequence,
    hx?: readonly [hidden: Tensor, cell: Tensor] | null,
  ): [output: PackedSequence, state: [hidden: Tensor, cell: Tensor]];
  override forward(
    input: Tensor,
    hx?: readonly [hidden: Tensor, cell: Tensor] | null,
  ): [output: Tensor, state: [hidden: Tensor, cell: Tensor]];
  override forward(
    input: Tensor | PackedSequence,
    hx: readonly [hidden: Tensor, cell: Tensor] | null = null,
  ): [output: Tensor | PackedSequence, state: [hidden: Tensor, cell: Tensor]] {
    const { output, last } = this.runAny(input, statesOf('LSTM', hx));
    return [output, [last.hidden, last.cell!]];
  }

  /** Runs the module: hooks around `forward`. */
  override call(
    input: PackedSequence,
    hx?: readonly [hidden: Tensor, cell: Tensor] | null,
  ): [output: PackedSequence, state: [hidden: Tensor, cell: Tensor]];
  override call<F extends Forward>(this: CalledAs<F>, ...args: Parameters<F>): ReturnType<F>;
  override call(...args: never[]): unknown {
    return super.call(...args);
  }
}
