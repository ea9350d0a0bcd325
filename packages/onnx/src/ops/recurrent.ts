/**
 * @file RNN, GRU and LSTM: their gates in ONNX's order, per direction, with peepholes, clipping and lengths.
 */
import { type Tensor, linear, stack, where, zeros } from '@tessera/tensor';
import type { CellKind } from '@tessera/tensor/internal';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OnnxListOperator } from '../registry.js';
import { indices, range } from './like.js';
import { type Activation, listedActivations } from './named-activation.js';
import {
  type DirectionRun,
  type State,
  inLayerOrder,
  layerKind,
  runLayer,
} from './recurrent-layer.js';

/** The tensors of one direction. */
interface Direction {
  readonly weight: Tensor;
  readonly recurrence: Tensor;
  readonly biases: readonly [input: Tensor, state: Tensor] | null;
  readonly peepholes: Tensor | null;
  readonly activations: readonly Activation[];
  /** The kind of cell, if its equations are those of one. */
  readonly kind: CellKind | null;
  /** What is done to inputs and states before they are multiplied. */
  readonly operand: (x: Tensor) => Tensor;
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** The next state from x Wᵀ + b, [N, gates · hidden]. */
type Step = (call: NodeCall, fromInput: Tensor, state: State, own: Direction) => State;

function clipped(call: NodeCall, x: Tensor): Tensor {
  const limit = call.float('clip', 0);
  return limit === 0 ? x : x.clamp(-limit, limit);
}

function gates(x: Tensor, count: number): Tensor[] {
  return [...x.chunk(count, -1)];
}

const rnnStep: Step = (call, fromInput, { hidden }, own) => {
  const sum = fromInput.add(linear(hidden, own.recurrence, own.biases?.[1] ?? null));
  return { hidden: own.activations[0]!(clipped(call, sum)), cell: null };
};

const gruStep: Step = (call, fromInput, { hidden }, own) => {
  const [f, g] = own.activations;
  const [z, r, h] = gates(fromInput, 3);
  const [weightZ, weightR, weightH] = own.recurrence.chunk(3, 0);
  const [biasZ, biasR, biasH] = own.biases === null ? [] : [...own.biases[1].chunk(3, 0)];
  const update = f(clipped(call, z.add(linear(hidden, weightZ, biasZ ?? null))));
  const reset = f(clipped(call, r.add(linear(hidden, weightR, biasR ?? null))));
  const fromState = call.flag('linear_before_reset')
    ? reset.mul(linear(hidden, weightH, biasH ?? null))
    : linear(reset.mul(hidden), weightH, biasH ?? null);
  const candidate = g(clipped(call, h.add(fromState)));
  return { hidden: candidate.sub(update.mul(candidate)).add(update.mul(hidden)), cell: null };
};

const lstmStep: Step = (call, fromInput, state, own) => {
  const [f, g, h] = own.activations;
  const fromState = linear(own.operand(state.hidden), own.recurrence, own.biases?.[1] ?? null);
  const sum = fromInput.add(fromState);
  const [i, o, forget, c] = gates(sum, 4);
  const [peepI, peepO, peepF] = own.peepholes === null ? [] : gates(own.peepholes, 3);
  const peep = (x: Tensor, weight: Tensor | undefined, cell: Tensor): Tensor =>
    clipped(call, weight === undefined ? x : x.add(weight.mul(cell)));
  const before = state.cell!;
  const input = f(peep(i, peepI, before));
  const kept = call.flag('input_forget') ? input.neg().add(1) : f(peep(forget, peepF, before));
  const cell = kept.mul(before).add(input.mul(g(clipped(call, c))));
  return { hidden: f(peep(o, peepO, cell)).mul(h(cell)), cell };
};

/** Runs one direction over [T, N, input]. States of sequences that have ended stay as they are. */
function runDirection(
  call: NodeCall,
  x: Tensor,
  own: Direction,
  step: Step,
  reverse: boolean,
): DirectionRun {
  const steps = x.shape[0]!;
  const lengths = call.optional(4)?.to('int64').reshape([-1, 1]) ?? null;
  const { kind } = own;
  if (kind !== null && steps > 1) {
    const [weight, weightHh] = [own.weight, own.recurrence].map((w) => inLayerOrder(kind, w));
    const [bias = null, biasHh = null] = own.biases?.map((b) => inLayerOrder(kind, b)) ?? [];
    const gates = linear(x, weight!, bias);
    return runLayer(call, kind, gates, own, { weightHh: weightHh!, biasHh }, reverse, lengths);
  }
  const fromInputs = linear(own.operand(x), own.weight, own.biases?.[0] ?? null);
  let state: State = { hidden: own.hidden, cell: own.cell };
  const outputs: Tensor[] = [];
  for (const i of range(steps)) {
    const t = reverse ? steps - 1 - i : i;
    const next = step(call, fromInputs.select(0, t), state, own);
    if (lengths === null) {
      state = next;
      outputs[t] = next.hidden;
    } else {
      const runs = lengths.gt(indices(call, [t]));
      const kept = (now: Tensor, before: Tensor): Tensor => where(runs, now, before);
      outputs[t] = kept(next.hidden, next.hidden.mul(0));
      state = {
        hidden: kept(next.hidden, state.hidden),
        cell: next.cell === null ? null : kept(next.cell, state.cell!),
      };
    }
  }
  return { outputs: stack(outputs, 0), last: state };
}

/** What makes a recurrent operator. */
interface Recurrence {
  readonly step: Step;
  /** Default activations. */
  readonly defaults: readonly string[];
  readonly hasCell: boolean;
  /** Weights of inputs [D, gates · hidden, input] and of states [D, gates · hidden, hidden]. */
  readonly weights?: (call: NodeCall) => readonly [Tensor, Tensor];
  readonly operand?: (x: Tensor) => Tensor;
}

function givenWeights(call: NodeCall): [Tensor, Tensor] {
  return [call.tensor(1), call.tensor(2)];
}

/** A recurrent operator. */
function recurrent({
  step,
  defaults,
  hasCell,
  weights = givenWeights,
  operand = (x) => x,
}: Recurrence) {
  return (call: NodeCall): Tensor[] => {
    const isBatchFirst = call.flag('layout');
    const flip = (x: Tensor): Tensor => (isBatchFirst ? x.transpose(0, 1) : x);
    const x = flip(call.tensor(0));
    const [inputWeights, recurrences] = weights(call);
    const [count, size] = [inputWeights.shape[0]!, recurrences.shape[2]!];
    const direction = call.choice('direction', ['forward', 'reverse', 'bidirectional'], 'forward');
    const names = call.texts('activations') ?? [];
    const named = range(count).map((d) =>
      defaults.map((name, i) => names[d * defaults.length + i] ?? name),
    );
    const activations = listedActivations(call, named.flat());
    const state = (input: number): Tensor | null => {
      const given = call.optional(input);
      return given === null ? null : flip(given);
    };
    const empty = (): Tensor => zeros([x.shape[1]!, size], { dtype: x.dtype, device: call.device });
    const [hidden, cells] = [state(5), hasCell ? state(6) : null];
    const [biases, peepholes] = [call.optional(3), hasCell ? call.optional(7) : null];
    const runs = range(count).map((d) => {
      const own: Direction = {
        weight: inputWeights.select(0, d),
        recurrence: recurrences.select(0, d),
        biases: biases === null ? null : (biases.select(0, d).chunk(2, 0) as [Tensor, Tensor]),
        peepholes: peepholes?.select(0, d) ?? null,
        activations: activations.slice(d * defaults.length, (d + 1) * defaults.length),
        kind: layerKind(call, named[d]!),
        operand,
        hidden: hidden?.select(0, d) ?? empty(),
        cell: hasCell ? (cells?.select(0, d) ?? empty()) : null,
      };
      return runDirection(call, x, own, step, direction === 'reverse' || d === 1);
    });
    const outputs = stack(
      runs.map((run) => run.outputs),
      1,
    );
    const all = isBatchFirst ? outputs.permute([2, 0, 1, 3]) : outputs;
    const last = (of: 'hidden' | 'cell'): Tensor =>
      flip(
        stack(
          runs.map((run) => run.last[of]!),
          0,
        ),
      );
    return hasCell ? [all, last('hidden'), last('cell')] : [all, last('hidden')];
  };
}

/** The LSTM with other weights, and something done to its operands. */
export function lstm(options: Pick<Recurrence, 'weights' | 'operand'> = {}): OnnxListOperator {
  const defaults = ['Sigmoid', 'Tanh', 'Tanh'];
  return recurrent({ step: lstmStep, defaults, hasCell: true, ...options });
}

/** Operators of the standard domain. */
export const recurrentLists: ListOperatorTable = {
  RNN: recurrent({ step: rnnStep, defaults: ['Tanh'], hasCell: false }),
  GRU: recurrent({ step: gruStep, defaults: ['Sigmoid', 'Tanh'], hasCell: false }),
  LSTM: lstm(),
};
