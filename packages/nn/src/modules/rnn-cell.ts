/**
 * @file `RNNCell`, `LSTMCell` and `GRUCell`: one step of a recurrent network.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, empty, squeeze, unsqueeze, zeros } from '@tessera/tensor';
import { type CellKind, type CellState, GATES, checkTensors } from '@tessera/tensor/internal';
import { type CellWeights, recurrentCell } from '../functional/recurrent.js';
import { uniform_ } from '../init/fill.js';
import { checkChoice, checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import { hiddenOf, statesOf } from './recurrent-states.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of recurrent cells. */
export interface CellOptions extends FactoryOptions {
  /** Whether there are biases (default true). */
  readonly bias?: boolean;
}

/** What the cells have in common. */
abstract class RNNCellBase extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof CellOptions, true>> = {
    bias: true,
    device: true,
    dtype: true,
  };

  readonly bias: boolean;
  /** [gates · hidden, input] */
  weight_ih: Parameter;
  /** [gates · hidden, hidden] */
  weight_hh: Parameter;
  /** [gates · hidden], or null. */
  bias_ih: Parameter | null;
  /** [gates · hidden], or null. */
  bias_hh: Parameter | null;

  constructor(
    protected readonly kind: CellKind,
    readonly inputSize: number,
    readonly hiddenSize: number,
    options: CellOptions,
  ) {
    super();
    checkOptions(new.target, options);
    const { bias = true, ...factory } = options;
    const rows = GATES[kind] * hiddenSize;
    this.bias = bias;
    this.weight_ih = new Parameter(empty([rows, inputSize], factory));
    this.weight_hh = new Parameter(empty([rows, hiddenSize], factory));
    this.bias_ih = bias ? new Parameter(empty([rows], factory)) : null;
    this.bias_hh = bias ? new Parameter(empty([rows], factory)) : null;
    this.resetParameters();
  }

  /** Draws new values: uniform within ±1/√hiddenSize. */
  resetParameters(): void {
    const bound = this.hiddenSize > 0 ? 1 / Math.sqrt(this.hiddenSize) : 0;
    for (const parameter of this.parameters({ recurse: false })) uniform_(parameter, -bound, bound);
  }

  private refuse(what: string): never {
    throw new TesseraError('shape-mismatch', `${this.constructor.name}: ${what}`, {
      hints: [`The input is [N, ${this.inputSize}], each state [N, ${this.hiddenSize}].`],
    });
  }

  /** The next state; without a given one it starts at zero. @throws shape-mismatch */
  protected next(input: Tensor, given: CellState | null): CellState {
    checkTensors(this.constructor.name, { input });
    if (input.ndim !== 1 && input.ndim !== 2)
      throw new TesseraError(
        'shape-mismatch',
        `${this.constructor.name}: Expected input to be 1D or 2D, got ${input.ndim}D instead`,
        { hints: ['The input is [N, input] or [input].'] },
      );
    const batched = input.ndim === 2;
    const rows = batched ? input : unsqueeze(input, 0);
    const [batch, features] = rows.sizes;
    if (features !== this.inputSize)
      this.refuse(`input has inconsistent input_size: got ${features} expected ${this.inputSize}`);
    const start = (state: Tensor | null, i: number): Tensor => {
      if (state === null)
        return zeros([batch!, this.hiddenSize], {
          dtype: input.dtype,
          device: input.device,
        });
      if (state.ndim !== 1 && state.ndim !== 2)
        this.refuse(
          `Expected ${this.kind === 'lstm' ? `hx[${i}]` : 'hidden'} to be 1D or 2D, got ${state.ndim}D instead`,
        );
      if (state.ndim !== input.ndim)
        throw new TesseraError(
          'shape-mismatch',
          `${this.constructor.name}: Expected hidden to be ${input.ndim}D, got ${state.ndim}D instead`,
          { hints: ['The state has a batch dimension exactly when the input has one.'] },
        );
      const own = batched ? state : unsqueeze(state, 0);
      // One row of state would be taken for all rows of the input.
      if (own.sizes[0] !== batch)
        this.refuse(
          `Input batch size ${batch} doesn't match hidden${i} batch size ${own.sizes[0]}`,
        );
      if (own.sizes[1] !== this.hiddenSize)
        this.refuse(
          `hidden${i} has inconsistent hidden_size: got ${own.sizes[1]}, expected ${this.hiddenSize}`,
        );
      return own;
    };
    const weights: CellWeights = {
      weightIh: this.weight_ih,
      weightHh: this.weight_hh,
      biasIh: this.bias_ih,
      biasHh: this.bias_hh,
      weightHr: null,
    };
    const state = {
      hidden: start(given?.hidden ?? null, 0),
      cell: this.kind === 'lstm' ? start(given?.cell ?? null, 1) : null,
    };
    const result = recurrentCell(this.kind, rows, state, weights);
    if (batched) return result;
    return {
      hidden: squeeze(result.hidden, 0),
      cell: result.cell === null ? null : squeeze(result.cell, 0),
    };
  }

  override extraRepr(): string {
    return `${this.inputSize}, ${this.hiddenSize}${this.bias ? '' : ', bias=False'}`;
  }
}

/** Options of `RNNCell`. */
export interface RNNCellOptions extends CellOptions {
  /** Default `tanh`. */
  readonly nonlinearity?: 'tanh' | 'relu';
}

/** One step of an `RNN`: [N, input], [N, hidden] → [N, hidden]. @see torch.nn.RNNCell */
export class RNNCell extends RNNCellBase {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof RNNCellOptions, true>> = {
    bias: true,
    nonlinearity: true,
    device: true,
    dtype: true,
  };

  readonly nonlinearity: 'tanh' | 'relu';

  constructor(inputSize: number, hiddenSize: number, options: RNNCellOptions = {}) {
    checkOptions(new.target, options);
    const { nonlinearity = 'tanh', ...shared } = options;
    checkChoice(new.target.name, 'nonlinearity', nonlinearity, ['tanh', 'relu']);
    super(nonlinearity, inputSize, hiddenSize, shared);
    this.nonlinearity = nonlinearity;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, hx: Tensor | null = null): Tensor {
    return this.next(input, hiddenOf('RNNCell', hx)).hidden;
  }

  override extraRepr(): string {
    return `${super.extraRepr()}${this.nonlinearity === 'tanh' ? '' : `, nonlinearity=${this.nonlinearity}`}`;
  }
}

/** One step of a `GRU`: [N, input], [N, hidden] → [N, hidden]. @see torch.nn.GRUCell */
export class GRUCell extends RNNCellBase {
  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}) {
    super('gru', inputSize, hiddenSize, options);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, hx: Tensor | null = null): Tensor {
    return this.next(input, hiddenOf('GRUCell', hx)).hidden;
  }
}

/** One step of an `LSTM`: the next hidden and cell state, [N, hidden] each. @see torch.nn.LSTMCell */
export class LSTMCell extends RNNCellBase {
  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}) {
    super('lstm', inputSize, hiddenSize, options);
  }

  /** @throws shape-mismatch */
  override forward(
    input: Tensor,
    hx: readonly [hidden: Tensor, cell: Tensor] | null = null,
  ): [hidden: Tensor, cell: Tensor] {
    const { hidden, cell } = this.next(input, statesOf('LSTMCell', hx));
    return [hidden, cell!];
  }
}
