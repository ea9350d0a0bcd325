/**
 * @file `OnnxModule`: an imported model.
 *
 * `forward` runs the graph node after node on Tessera's operators, so that it compiles, differentiates and moves between
 * devices as every module does. Numbers that decide shapes stay numbers (see `HostArray`): where the file computes
 * them from shapes and constants, a compiled call is one graph, and other sizes run through the same one.
 */
import { Module } from '@tessera/nn';
import {
  type DType,
  type DeviceType,
  type Tensor,
  fromBytes,
  isDType,
  isFloatingPoint,
  isTensor,
  keep,
} from '@tessera/tensor';
import { activeMode, trustedRegion } from '@tessera/tensor/internal';
import { TesseraError } from '@tessera/shared';
import { Decisions } from './decisions.js';
import {
  type ParameterChoice,
  type Place,
  allInitializers,
  allLiterals,
  placeInitializers,
  tensorAt,
} from './initializers.js';
import type { OnnxGraph, OnnxModel, TensorLiteral, ValueDescription } from './model/model.js';
import { foldConstants } from './run/fold-constants.js';
import { decidingInputs } from './model/deciding-inputs.js';
import { KnownNumbers } from './known-numbers.js';
import { HostArray, fitsHost, hostCopy, isBeyond32Bits, isExact } from './run/host-array.js';
import { usesForeignOperators } from './registry.js';
import { noteType } from './run/narrow-types.js';
import { Run, type RunState } from './run/run.js';
import type { Value } from './run/value.js';
import { isUnwritten } from './run/writes.js';
import './ops/index.js';

/** An input as callers see it. */
export interface OnnxValueInfo {
  readonly name: string;
  /** The dtype that tensors have here; null for sequences and undeclared types. */
  readonly dtype: Tensor['dtype'] | null;
  /** Sizes; dynamic axes as names, or null if nothing is known of them. Null if the rank is not known. */
  readonly shape: readonly (number | string | null)[] | null;
}

/** What a model takes: a tensor, a list of them (a sequence), or null for an optional input that is left out. */
export type OnnxInput = Tensor | readonly Tensor[] | null;

/** Inputs by position, or one record of them by name. */
export type OnnxInputs = (OnnxInput | Readonly<Record<string, OnnxInput>>)[];

/** Outputs by name. One that the file declares as a sequence is an array of tensors. */
export type OnnxOutputs = Record<string, Tensor>;

function describe({ name, type, shape }: ValueDescription): OnnxValueInfo {
  return { name, dtype: type?.dtype ?? null, shape };
}

/** The only argument, if that is a record of inputs by name. */
function recordOf(inputs: OnnxInputs): Readonly<Record<string, OnnxInput>> | null {
  const [first = null] = inputs;
  const isRecord =
    inputs.length === 1 && typeof first === 'object' && !isTensor(first) && !Array.isArray(first);
  return isRecord ? first : null;
}

/** Models so far. */
let count = 0;

/** See the file header. Made by `importOnnx`. */
export class OnnxModule extends Module {
  /** Tensors of the file that are no initialisers, by the device that they are for. */
  readonly constants: Partial<Record<DeviceType, readonly Tensor[]>> = {};
  private readonly _model: OnnxModel;
  /** Tells it from other models. */
  private readonly _number = count++;
  private readonly _places: ReadonlyMap<TensorLiteral, Place>;
  private readonly _made: ReadonlySet<unknown>;
  private readonly _onHost = new WeakMap<HostArray, Value>();
  private readonly _known = new KnownNumbers();
  private readonly _decisions: Decisions;
  private readonly _constants = new Map<TensorLiteral, Tensor | HostArray>();
  private readonly _state: RunState;
  private _isDouble = false;
  /** What is the same in every call, and becomes tensors where it is used as such, on every device. */
  private readonly _fixed: readonly (Tensor | HostArray)[];
  /** Names of the inputs that have to be given. */
  private readonly _needed: readonly string[];

  constructor(model: OnnxModel, isParameter: ParameterChoice) {
    super();
    this._model = model;
    this._decisions = new Decisions(this._known, decidingInputs(model.graph));
    this._places = placeInitializers(this, model.graph, isParameter);
    this._made = new Set(this.initialTensors());
    // A traced call cannot read what it makes, so constants are made now.
    for (const literal of allLiterals(model)) this.constantOf(literal);
    for (const literal of allInitializers(model.graph))
      if (!this._places.has(literal)) this.constantOf(literal);
    const state = {
      model,
      initializers: (graph: OnnxGraph) => this.initializersOf(graph),
      isDouble: () => this._isDouble,
      known: (tensor: Tensor) => (this.isOwn(tensor) ? this._decisions.read(tensor) : undefined),
      constant: (literal: TensorLiteral) => this.constantOf(literal),
      folded: new Map(),
    } satisfies RunState;
    const folded = foldConstants(model.graph, new Run(state, 'cpu'));
    this._state = { ...state, folded };
    const constants = Array.from(this._constants.values());
    this._fixed = [...constants, ...new Set([...folded.values()].flat())].filter(
      (value) => isTensor(value) || !isBeyond32Bits(value),
    );
    this._needed = model.graph.inputs
      .map(({ name }) => name)
      .filter((name) => !model.graph.initializers.has(name));
    this.eval();
  }

  /** Inputs that have to be given, in order. */
  get inputs(): OnnxValueInfo[] {
    const { inputs, initializers } = this._model.graph;
    return inputs.filter(({ name }) => !initializers.has(name)).map(describe);
  }

  /** Outputs, in order. */
  get outputs(): OnnxValueInfo[] {
    return this._model.graph.outputs.map(describe);
  }

  /** Version of each operator set that the file is written for; '' is the standard one. */
  get opsets(): Readonly<Record<string, number>> {
    return Object.fromEntries(this._model.opsets);
  }

  /**
   * Outputs by name, from inputs in order or one record of inputs by name. A record may also replace initialisers
   * that the file lists among its inputs.
   *
   * @throws invalid-argument for inputs that are missing or unknown; data-async-only where values on another device
   * decide what happens: see `run`
   */
  override forward(...inputs: OnnxInputs): OnnxOutputs {
    const given = this.named(inputs);
    const device = this.deviceOf(given);
    const run = (named: ReadonlyMap<string, Value>): OnnxOutputs =>
      this.results(new Run(this._state, device).main(named));
    const values = [...given.values()];
    if (activeMode(values) === null) return run(given);
    const named = this._decisions.decided(given);
    const tensors = this.initialTensors();
    // Code from outside may do anything, and tensors that are lent for a call are not the module's.
    if (usesForeignOperators(this._model) || !tensors.every((tensor) => this._made.has(tensor)))
      return run(named);
    this.placeConstants(device);
    const key = `${this._number} ${this._isDouble} ${this._decisions.keyOf(named, tensors)}`;
    const read = { reads: tensors.concat(this.constants[device]!), given: values, key };
    return trustedRegion(this, 'forward', read, () => run(named));
  }

  /** Makes the tensors of constants before a call is traced, where the trace finds them. */
  private placeConstants(device: DeviceType): void {
    const before = this.constants[device];
    let isSame = before !== undefined;
    const now = this._fixed.map((value, i) => {
      const tensor = isTensor(value) ? value : value.toTensor(device);
      isSame &&= tensor === before![i];
      return tensor;
    });
    if (!isSame) this.constants[device] = now;
  }

  /** `forward`, waiting where values on another device than the CPU decide what happens. @throws invalid-argument */
  async run(...inputs: OnnxInputs): Promise<OnnxOutputs> {
    const named = this.named(inputs);
    return this.results(await new Run(this._state, this.deviceOf(named)).mainAsync(named));
  }

  override extraRepr(): string {
    const list = (values: readonly OnnxValueInfo[]): string =>
      values
        .map(({ name, dtype, shape }) => `${name}: ${dtype ?? '?'}[${shape?.join(', ') ?? '…'}]`)
        .join(', ');
    return `(${list(this.inputs)}) -> (${list(this.outputs)})`;
  }

  /** @internal Numbers that decide something stay known on a device that cannot be read. */
  override _move(target: DType | DeviceType): void {
    const kept = this.knownNow();
    if (isDType(target)) this._isDouble = target === 'float64';
    for (const module of this.modules()) if (module !== this) module._move(target);
    super._move(target);
    for (const [tensor, numbers] of kept)
      if (tensor.device !== 'cpu' && tensor.dtype === numbers.dtype)
        this._known.note(tensor, numbers);
  }

  /** @internal Numbers that come from the CPU are known on a device that cannot be read. */
  override _loaded(values: Readonly<Record<string, Tensor>>, prefix: string): void {
    for (const [name, tensor] of Object.entries(this.stateTensors())) {
      const value = values[prefix + name];
      if (tensor.device === 'cpu' || value?.device !== 'cpu' || value.dtype !== tensor.dtype)
        continue;
      const numbers = this._known.of(value);
      if (numbers !== undefined) this._known.note(tensor, numbers);
    }
  }

  private stateTensors(): Record<string, Tensor> {
    return Object.fromEntries([...this.namedParameters(), ...this.namedBuffers()]);
  }

  private knownNow(): [Tensor, HostArray][] {
    return this.initialTensors().flatMap((tensor) => {
      const numbers = this._known.of(tensor);
      return numbers === undefined ? [] : [[tensor, numbers]];
    });
  }

  private initializersOf({ initializers }: OnnxGraph): ReadonlyMap<string, Value> {
    return new Map(Array.from(initializers, ([name, each]) => [name, this.initializer(each)]));
  }

  /** Small whole numbers are numbers of the host, backed by their buffer; all else is the tensor. */
  private initializer(literal: TensorLiteral): Value {
    const place = this._places.get(literal);
    if (place === undefined) return this.constantOf(literal);
    const tensor = this.tensorOf(literal, place);
    noteType(tensor, literal.type);
    if (isFloatingPoint(tensor.dtype)) return tensor;
    const known = this._decisions.read(tensor);
    if (known === undefined) return tensor;
    let value = this._onHost.get(known);
    if (value === undefined) {
      const onDevice = (device: DeviceType): Tensor =>
        tensor.device === device ? tensor : tensor.to(device);
      const { dtype, shape, data } = known;
      value = isExact(known) ? new HostArray(dtype, shape, data, false, onDevice) : tensor;
      this._onHost.set(known, noteType(value, literal.type));
    }
    return value;
  }

  private constantOf(literal: TensorLiteral): Value {
    let value = this._constants.get(literal);
    if (value === undefined || (isTensor(value) && !isUnwritten(value))) {
      const tensor = keep(fromBytes(literal.bytes, literal.shape, literal.type.dtype));
      value = tensor;
      if (fitsHost(literal.shape)) {
        const { dtype, shape, data } = hostCopy(tensor);
        const copy = new HostArray(dtype, shape, data, true);
        if (isExact(copy)) value = copy;
        // Such as the largest int64, which says "to the end": near enough to decide something by.
        else this._known.note(tensor, copy);
      }
      this._constants.set(literal, noteType(value, literal.type));
    }
    return value;
  }

  /** Whether the model has made a tensor, which others may have changed since. */
  private isOwn(tensor: Tensor): boolean {
    return this._known.has(tensor) || this.initialTensors().includes(tensor);
  }

  /** What the fields of initialisers hold now. @throws invalid-argument */
  private initialTensors(): Tensor[] {
    return Array.from(this._places, ([literal, place]) => this.tensorOf(literal, place));
  }

  private tensorOf({ name }: TensorLiteral, place: Place): Tensor {
    const tensor = tensorAt(place);
    if (isTensor(tensor)) return tensor;
    return this.refuse(`needs a tensor in the field of its initialiser '${name}'`);
  }

  private deviceOf(inputs: ReadonlyMap<string, Value>): DeviceType {
    for (const value of inputs.values())
      if (isTensor(value) && value.device !== 'cpu') return value.device;
    for (const tensor of this.initialTensors()) if (tensor.device !== 'cpu') return tensor.device;
    return 'cpu';
  }

  /** @throws invalid-argument */
  private named(given: OnnxInputs): Map<string, Value> {
    const expected = this._needed;
    const named = new Map<string, Value>();
    const record = recordOf(given);
    if (record !== null) {
      for (const [name, value] of Object.entries(record)) named.set(name, value);
    } else {
      const list = given as readonly OnnxInput[];
      if (list.length > expected.length)
        this.refuse(`takes ${expected.length} inputs, not ${list.length}`);
      list.forEach((value, i) => named.set(expected[i]!, value));
    }
    const known = new Map(this._model.graph.inputs.map((input) => [input.name, input]));
    for (const [name, value] of named) {
      if (!known.has(name)) this.refuse(`has no input '${name}'`);
      if (value !== null && !isTensor(value) && !Array.isArray(value))
        this.refuse(`got ${typeof value} for its input '${name}'`);
      const type = known.get(name)?.type ?? null;
      if (isTensor(value) && type !== null) noteType(value, type);
    }
    for (const name of expected)
      if (!named.has(name) && this.isNeeded(name)) this.refuse(`needs its input '${name}'`);
    return named;
  }

  /** Only declared optionals may be left out. */
  private isNeeded(name: string): boolean {
    return this._model.graph.inputs.some((input) => input.name === name && input.type !== null);
  }

  private refuse(problem: string): never {
    const inputs = this.inputs.map(({ name }) => name).join(', ');
    throw new TesseraError('invalid-argument', `OnnxModule ${problem}.`, {
      context: { inputs },
      hints: [`Its inputs are: ${inputs}. Pass tensors in this order, or one record by name.`],
    });
  }

  private results(values: readonly Value[]): OnnxOutputs {
    const device = this.deviceOf(new Map(values.map((value, i) => [String(i), value])));
    const finished = (value: Value): unknown => {
      if (value instanceof HostArray) return value.toTensor(device);
      return Array.isArray(value) ? value.map(finished) : value;
    };
    const { outputs } = this._model.graph;
    return Object.fromEntries(
      outputs.map(({ name }, i) => [name, finished(values[i]!)]),
    ) as OnnxOutputs;
  }
}
