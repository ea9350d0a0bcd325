/**
 * @file What `RNN`, `LSTM` and `GRU` have in common: parameters, checks and the walk over their layers.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  cat,
  dropout,
  empty,
  isAutocastEnabled,
  indexSelect,
  narrow,
  select,
  squeeze,
  stack,
  transpose,
  unsqueeze,
  zeros,
} from '@tessera/tensor';
import {
  type CellKind,
  type CellState,
  GATES,
  formatSizes,
  sameNumbers,
  checkTensors,
} from '@tessera/tensor/internal';
import { type CellWeights, packedRecurrentLayer, recurrentLayer } from '../functional/recurrent.js';
import { uniform_ } from '../init/fill.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';
import { PackedPlaces } from './packed-places.js';
import { type PackedSequence, isPackedSequence } from './packed-sequence.js';

/** Options of recurrent networks. */
export interface RecurrentOptions extends FactoryOptions {
  /** Layers on top of each other (default 1). */
  readonly numLayers?: number;
  /** Whether the cells have biases (default true). */
  readonly bias?: boolean;
  /** Whether sequences are [N, T, input] instead of [T, N, input] (default false). */
  readonly batchFirst?: boolean;
  /** Share of each layer's outputs, but the last's, that is dropped in training (default 0). */
  readonly dropout?: number;
  /** Whether a second cell per layer runs from the end (default false). */
  readonly bidirectional?: boolean;
}

/** States of all layers and directions, [layers · directions, N, …] each. */
export interface LayerStates {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

type WeightName = `${'weight' | 'bias'}_${'ih' | 'hh' | 'hr'}`;

/** See the file header. Parameters are named as PyTorch's: `weight_ih_l0`, `bias_hh_l1_reverse`, … */
export abstract class RNNBase extends Module {
  /** Of a layer and direction: `weight_ih_l0`, `bias_hh_l1_reverse`. */
  [name: `${WeightName}_l${string}`]: Parameter;

  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof RecurrentOptions, true>> = {
    numLayers: true,
    bias: true,
    batchFirst: true,
    dropout: true,
    bidirectional: true,
    device: true,
    dtype: true,
  };

  readonly numLayers: number;
  readonly bias: boolean;
  readonly batchFirst: boolean;
  readonly dropout: number;
  readonly bidirectional: boolean;

  /** @throws invalid-argument */
  constructor(
    protected readonly kind: CellKind,
    readonly inputSize: number,
    readonly hiddenSize: number,
    options: RecurrentOptions,
    readonly projSize: number = 0,
  ) {
    super();
    checkOptions(new.target, options);
    const {
      numLayers = 1,
      bias = true,
      batchFirst = false,
      dropout: share = 0,
      bidirectional = false,
      ...factory
    } = options;
    this.numLayers = numLayers;
    this.bias = bias;
    this.batchFirst = batchFirst;
    this.dropout = share;
    this.bidirectional = bidirectional;
    this.checkOptions();
    for (let layer = 0; layer < numLayers; layer++)
      for (const suffix of this.suffixes(layer)) this.defineCell(layer, suffix, factory);
    this.resetParameters();
  }

  private checkOptions(): void {
    const refuse = (message: string, hint: string): never => {
      throw new TesseraError('invalid-argument', `${this.constructor.name}: ${message}`, {
        hints: [hint],
      });
    };
    const { inputSize, hiddenSize, bias, batchFirst } = this;
    for (const [type, values] of Object.entries({
      number: { inputSize, hiddenSize },
      boolean: { bias, batchFirst },
    }))
      for (const [name, value] of Object.entries(values))
        if (typeof value !== type)
          refuse(
            `${name} should be of type ${type}, got: ${typeof value}`,
            'See RecurrentOptions.',
          );
    if (!(this.dropout >= 0 && this.dropout <= 1))
      refuse(
        'dropout should be a number in range [0, 1] representing the probability of an element being zeroed',
        'dropout is a share of elements.',
      );
    if (!(this.inputSize > 0))
      refuse('inputSize must be greater than zero', 'Give a number of features.');
    if (!(this.hiddenSize > 0))
      refuse('hiddenSize must be greater than zero', 'Give a number of hidden units.');
    if (!(this.numLayers > 0))
      refuse('numLayers must be greater than zero', 'Give a number of layers.');
    if (this.projSize < 0 || this.projSize >= this.hiddenSize)
      refuse(
        'projSize has to be smaller than hiddenSize and not negative',
        'Use 0 for no projection.',
      );
  }

  private suffixes(layer: number): `l${string}`[] {
    return this.bidirectional ? [`l${layer}`, `l${layer}_reverse`] : [`l${layer}`];
  }

  /** Size of the hidden state. */
  private get stateSize(): number {
    return this.projSize > 0 ? this.projSize : this.hiddenSize;
  }

  private defineCell(layer: number, suffix: `l${string}`, factory: FactoryOptions): void {
    const rows = GATES[this.kind] * this.hiddenSize;
    const columns = layer === 0 ? this.inputSize : this.stateSize * (this.bidirectional ? 2 : 1);
    const define = (name: WeightName, sizes: readonly number[]): void => {
      this[`${name}_${suffix}`] = new Parameter(empty(sizes, factory));
    };
    define('weight_ih', [rows, columns]);
    define('weight_hh', [rows, this.stateSize]);
    if (this.bias) {
      define('bias_ih', [rows]);
      define('bias_hh', [rows]);
    }
    if (this.projSize > 0) define('weight_hr', [this.projSize, this.hiddenSize]);
  }

  /** Draws new values: uniform within ±1/√hiddenSize. */
  resetParameters(): void {
    const bound = 1 / Math.sqrt(this.hiddenSize);
    for (const parameter of this.parameters({ recurse: false })) uniform_(parameter, -bound, bound);
  }

  /** Does nothing: parameters need no common memory here. Present for programs that call it. */
  flattenParameters(): void {}

  private cellWeights(suffix: `l${string}`): CellWeights {
    return {
      weightIh: this[`weight_ih_${suffix}`]!,
      weightHh: this[`weight_hh_${suffix}`]!,
      biasIh: this[`bias_ih_${suffix}`] ?? null,
      biasHh: this[`bias_hh_${suffix}`] ?? null,
      weightHr: this[`weight_hr_${suffix}`] ?? null,
    };
  }

  /** Runs all layers; without given states they start at zero. @throws shape-mismatch */
  private run(input: Tensor, given: LayerStates | null): { output: Tensor; last: LayerStates } {
    this.checkInput(input);
    const batched = input.ndim === 3;
    const batchDim = this.batchFirst ? 0 : 1;
    const withBatch = batched ? input : unsqueeze(input, batchDim);
    const sequence = this.batchFirst ? transpose(withBatch, 0, 1) : withBatch;
    const states = this.initialStates(sequence, given, batched);
    const { output, last } = this.runLayers(sequence, states);
    const arranged = this.batchFirst ? transpose(output, 0, 1) : output;
    if (batched) return { output: arranged, last };
    return {
      output: squeeze(arranged, batchDim),
      last: {
        hidden: squeeze(last.hidden, 1),
        cell: last.cell === null ? null : squeeze(last.cell, 1),
      },
    };
  }

  /** Runs all layers along what was given. @throws shape-mismatch */
  protected runAny<I extends Tensor | PackedSequence>(
    input: I,
    given: LayerStates | null,
  ): { output: I extends Tensor ? Tensor : PackedSequence; last: LayerStates };
  protected runAny(
    input: Tensor | PackedSequence,
    given: LayerStates | null,
  ): { output: Tensor | PackedSequence; last: LayerStates } {
    return isPackedSequence(input) ? this.runPacked(input, given) : this.run(input, given);
  }

  /** The same along packed sequences; states are in the order in which the sequences were given. */
  private runPacked(
    input: PackedSequence,
    given: LayerStates | null,
  ): { output: PackedSequence; last: LayerStates } {
    const { data, batchSizes, sortedIndices, unsortedIndices } = input;
    this.checkInput(data);
    const ordered = (state: Tensor, order: Tensor | null): Tensor =>
      order === null ? state : indexSelect(state, 1, order);
    const reordered = ({ hidden, cell }: LayerStates, order: Tensor | null): LayerStates => ({
      hidden: ordered(hidden, order),
      cell: cell === null ? null : ordered(cell, order),
    });
    // The first step, as a sequence of all: what states are to fit.
    const like = unsqueeze(narrow(data, 0, 0, batchSizes[0]!), 0);
    const states = reordered(this.initialStates(like, given, true), sortedIndices);
    const { output, last } = this.runLayers(
      data,
      states,
      new PackedPlaces(batchSizes, data.device),
    );
    return { output: { ...input, data: output }, last: reordered(last, unsortedIndices) };
  }

  /** `places` are those of packed sequences; without, the sequence is [T, N, input]. */
  private runLayers(
    sequence: Tensor,
    states: LayerStates,
    places: PackedPlaces | null = null,
  ): { output: Tensor; last: LayerStates } {
    let value = sequence;
    const last: CellState[] = [];
    for (let layer = 0; layer < this.numLayers; layer++) {
      const outputs = this.suffixes(layer).map((suffix, direction) => {
        const index = last.length;
        const initial = {
          hidden: select(states.hidden, 0, index),
          cell: states.cell === null ? null : select(states.cell, 0, index),
        };
        const weights = this.cellWeights(suffix);
        const reverse = direction === 1;
        const result =
          places === null
            ? recurrentLayer(this.kind, value, initial, weights, reverse)
            : packedRecurrentLayer(this.kind, value, places, initial, weights, reverse);
        last.push(result.last);
        return result.output;
      });
      value = outputs.length === 1 ? outputs[0]! : cat(outputs, -1);
      if (this.dropout > 0 && layer < this.numLayers - 1)
        value = dropout(value, { p: this.dropout, training: this.training });
    }
    const joined = (part: 'hidden' | 'cell'): Tensor =>
      stack(
        last.map((state) => state[part]!),
        0,
      );
    return {
      output: value,
      last: { hidden: joined('hidden'), cell: this.kind === 'lstm' ? joined('cell') : null },
    };
  }

  private initialStates(
    sequence: Tensor,
    given: LayerStates | null,
    batched: boolean,
  ): LayerStates {
    const sizes = (size: number): number[] => [
      this.numLayers * (this.bidirectional ? 2 : 1),
      sequence.sizes[1]!,
      size,
    ];
    const start = (state: Tensor | null | undefined, size: number, name: string): Tensor => {
      if (state == null)
        return zeros(sizes(size), { dtype: sequence.dtype, device: sequence.device });
      if (state.ndim !== (batched ? 3 : 2))
        throw new TesseraError(
          'shape-mismatch',
          `For ${batched ? 'batched 3-D' : 'unbatched 2-D'} input, hx should also be ${batched ? 3 : 2}-D but got ${state.ndim}-D tensor`,
          { hints: ['Give states with a batch dimension exactly when the input has one.'] },
        );
      const full = batched ? state : unsqueeze(state, 1);
      if (sameNumbers(full.sizes, sizes(size))) return full;
      throw new TesseraError(
        'shape-mismatch',
        `Expected ${name} size ${formatSizes(sizes(size))}, got ${formatSizes(full.sizes)}`,
        { hints: ['States are [layers · directions, batch, size].'] },
      );
    };
    const hidden = start(
      given?.hidden,
      this.stateSize,
      this.kind === 'lstm' ? 'hidden[0]' : 'hidden',
    );
    if (this.kind !== 'lstm') return { hidden, cell: null };
    return { hidden, cell: start(given?.cell, this.hiddenSize, 'hidden[1]') };
  }

  private checkInput(input: Tensor): void {
    checkTensors(this.constructor.name, { input });
    if (input.ndim !== 2 && input.ndim !== 3)
      throw new TesseraError(
        'shape-mismatch',
        `${this.constructor.name}: Expected input to be 2D or 3D, got ${input.ndim}D instead`,
        { hints: ['The input is [T, N, input], or [T, input] without a batch.'] },
      );
    if (input.sizes.at(-1) !== this.inputSize)
      throw new TesseraError(
        'shape-mismatch',
        `input.size(-1) must be equal to input_size. Expected ${this.inputSize}, got ${input.sizes.at(-1)!}`,
        { hints: ['The last dimension of the input holds its features.'] },
      );
    const { dtype } = this.weight_ih_l0!;
    if (input.dtype !== dtype && !isAutocastEnabled(input.device))
      throw new TesseraError(
        'dtype-mismatch',
        `RNN input dtype (${input.dtype}) does not match weight dtype (${dtype}). Convert input: input.to(${dtype}), or convert model: model.to(${input.dtype})`,
        { hints: ['Or run it within autocast().'] },
      );
  }

  override extraRepr(): string {
    const parts = [`${this.inputSize}, ${this.hiddenSize}`];
    if (this.projSize !== 0) parts.push(`proj_size=${this.projSize}`);
    if (this.numLayers !== 1) parts.push(`num_layers=${this.numLayers}`);
    if (!this.bias) parts.push('bias=False');
    if (this.batchFirst) parts.push('batch_first=True');
    if (this.dropout !== 0) parts.push(`dropout=${pythonLiteral(this.dropout)}`);
    if (this.bidirectional) parts.push('bidirectional=True');
    return parts.join(', ');
  }
}
