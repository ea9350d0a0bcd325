/**
 * @file `LBFGS`: a quasi-Newton method with limited memory.
 *
 * How many times it evaluates the loss depends on the losses, and what it computes from them on what it remembers: hardly
 * two steps compute the same, so a step is never traced (as in PyTorch). Around it a compiled function has a graph break,
 * and a closure is compiled by itself: `step(compile(closure))`. On a device that cannot be read at once its step is
 * `stepAsync`. Modelled on `torch.optim.LBFGS`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, cat, enableGrad, keep, zeros } from '@tessera/tensor';
import { type ZeroGradOptions, clearGrads } from '../module/clear-grad.js';
import { type Reading, largest, read, runAtOnce, runAwaiting } from './awaited-reads.js';
import { checkNonNegative } from './option-checks.js';
import {
  type CommonOptions,
  type OptimizerParams,
  type ParamGroup,
  checkGroupNames,
  checkedParams,
  toGroups,
  type OptionsInput,
} from './param-group.js';
import { bindTensors, rateOf } from './tensor-rate.js';
import { type LBFGSRecord, type Memory, recordOf, stateOfRecord } from './lbfgs-state.js';
import { checkGroups } from './optimizer-state-dict.js';
import { readStateDict } from './read-state-dict.js';
import { type Evaluation, strongWolfe } from './strong-wolfe.js';

/** Options of `LBFGS`. */
export interface LBFGSOptions extends CommonOptions {
  /** Iterations per step (default 20). */
  maxIter: number;
  /** Evaluations of the closure per step (default 1.25 · maxIter). */
  maxEval: number;
  /** Stops when no gradient is larger (default 1e-7). */
  toleranceGrad: number;
  /** Stops when parameters or loss change less (default 1e-9). */
  toleranceChange: number;
  /** Updates remembered (default 100). */
  historySize: number;
  /** `strong_wolfe`, or null for steps of length `lr` (default). */
  lineSearchFn: 'strong_wolfe' | null;
}

const NAMES: OptionNames<LBFGSOptions> = {
  lr: true,
  maxIter: true,
  maxEval: true,
  toleranceGrad: true,
  toleranceChange: true,
  historySize: true,
  lineSearchFn: true,
};

/** State of an `LBFGS` by PyTorch's names, under the number 0, and its group with our names of options. */
export interface LBFGSStateDict {
  readonly state: Readonly<Record<number, LBFGSRecord>>;
  readonly paramGroups: readonly (Readonly<Record<string, unknown>> & {
    readonly params: readonly number[];
  })[];
}

/**
 * L-BFGS; the default rate is 1. Takes one group of parameters. It is no `Optimizer`, since its step needs a closure: code
 * for both takes `Optimizer | LBFGS`.
 *
 * @see torch.optim.LBFGS
 */
export class LBFGS {
  /** Its one group. */
  readonly paramGroups: [ParamGroup<LBFGSOptions>];
  /** Iterations of all steps so far. */
  iterations = 0;
  /** Evaluations of the closure so far. */
  evaluations = 0;
  private _memory: Memory | null = null;

  /** @throws invalid-argument */
  constructor(params: OptimizerParams<LBFGSOptions>, options: OptionsInput<LBFGSOptions> = {}) {
    checkOptionNames('LBFGS', options, NAMES);
    const [input, ...others] = toGroups(params);
    if (others.length > 0)
      throw new TesseraError('invalid-argument', "LBFGS doesn't support several parameter groups", {
        hints: ['Pass all parameters in one group.'],
      });
    checkGroupNames(this, input, NAMES);
    const maxIter = input!.maxIter ?? options.maxIter ?? 20;
    const defaults: LBFGSOptions = {
      lr: 1,
      maxIter,
      maxEval: Math.floor((maxIter * 5) / 4),
      toleranceGrad: 1e-7,
      toleranceChange: 1e-9,
      historySize: 100,
      lineSearchFn: null,
    };
    const lr = input!.lr ?? options.lr ?? defaults.lr;
    const group: ParamGroup<LBFGSOptions> = {
      ...defaults,
      ...options,
      ...input!,
      ...checkedParams(input!.params, []),
      lr: rateOf(lr),
    };
    bindTensors(group, 'lr', lr);
    checkNonNegative(group, 'lr');
    this.paramGroups = [group];
  }

  /** Sets all gradients to null, or to zero. */
  zeroGrad(options?: ZeroGradOptions): void {
    clearGrads(this.paramGroups[0].params, options);
  }

  /** What it remembers, in PyTorch's form; shares memory with the optimizer. */
  stateDict(): LBFGSStateDict {
    const { params, ...options } = this.paramGroups[0];
    const { evaluations, iterations, _memory: memory } = this;
    return {
      state: evaluations === 0 ? {} : { 0: recordOf({ evaluations, iterations, memory }) },
      paramGroups: [{ ...options, params: params.map((_, i) => i) }],
    };
  }

  /**
   * Takes over options and copies what was remembered: of a `stateDict()`, or of PyTorch's.
   *
   * @throws state-dict-mismatch, before anything is changed
   */
  loadStateDict(dict: LBFGSStateDict | Readonly<Record<string, unknown>>): void {
    const [group] = this.paramGroups;
    const { state, paramGroups } = readStateDict(dict, [group]);
    checkGroups(paramGroups, [group], NAMES);
    const { params: numbers, ...options } = paramGroups[0]!;
    const read = stateOfRecord(state[numbers[0]!], this.flatGrad());
    Object.assign(group, options);
    // Other words of PyTorch's options are ours in camel case.
    if (options['lineSearchFn'] === 'strongWolfe') group.lineSearchFn = 'strong_wolfe';
    this.evaluations = read.evaluations;
    this.iterations = read.iterations;
    this._memory = read.memory;
  }

  /**
   * Takes up to `maxIter` iterations; returns the loss before the first.
   *
   * @param closure clears the gradients, computes the loss, calls `backward()` and returns the loss
   * @throws invalid-argument without a closure; data-async-only for parameters on a device that cannot be read at once
   */
  step(closure: () => Tensor): Tensor {
    return runAtOnce(this.iterate(closure));
  }

  /** `step` on any device; the losses it looks at are awaited. @throws invalid-argument without a closure */
  stepAsync(closure: () => Tensor): Promise<Tensor> {
    return runAwaiting(this.iterate(closure));
  }

  private *iterate(closure: () => Tensor): Reading<Tensor> {
    if (typeof closure !== 'function') {
      throw new TesseraError('invalid-argument', 'LBFGS.step() needs a closure.', {
        hints: [
          'It evaluates the loss several times: step(() => { zeroGrad; loss.backward(); return loss; }).',
        ],
      });
    }
    const losses: Tensor[] = [];
    yield* this.minimize(() => {
      this.evaluations++;
      const loss = enableGrad(closure);
      losses.push(loss);
      return this.evaluation(loss);
    });
    return losses[0]!;
  }

  /** What the closure left. */
  private *evaluation(loss: Tensor): Reading<Evaluation> {
    return { grad: this.flatGrad(), loss: yield* read(loss) };
  }

  private *minimize(evaluate: () => Reading<Evaluation>): Reading<void> {
    const [group] = this.paramGroups;
    const before = this.evaluations;
    let { loss, grad } = yield* evaluate();
    if ((yield* largest(grad)) <= group.toleranceGrad) return;
    for (let iteration = 1; ; iteration++) {
      this.iterations++;
      const memory = yield* this.direct(group, grad);
      memory.previousGrad = keep(grad.clone());
      memory.previousLoss = loss;
      const { direction } = memory;
      memory.t =
        this.iterations === 1
          ? Math.min(1, 1 / (yield* read(grad.abs().sum()))) * group.lr
          : group.lr;
      const slope = yield* read(grad.dot(direction));
      if (slope > -group.toleranceChange) return;
      if (group.lineSearchFn === 'strong_wolfe') {
        const start = group.params.map((param) => param.clone());
        const found = yield* strongWolfe(
          (t) => this.tried(t, direction, start, evaluate),
          direction,
          { loss, grad: grad.clone(), slope },
          memory.t,
          yield* largest(direction),
          group.toleranceChange,
          group.maxEval - (this.evaluations - before),
        );
        ({ loss, grad, t: memory.t } = found);
        this.move(memory.t, direction);
      } else {
        this.move(memory.t, direction);
        if (iteration !== group.maxIter) ({ loss, grad } = yield* evaluate());
      }
      if (
        iteration === group.maxIter ||
        this.evaluations - before >= group.maxEval ||
        (yield* largest(grad)) <= group.toleranceGrad ||
        (yield* largest(direction.mul(memory.t))) <= group.toleranceChange ||
        Math.abs(loss - memory.previousLoss) < group.toleranceChange
      )
        return;
    }
  }

  /** Loss and gradient so far along a direction; the parameters are as before afterwards. */
  private *tried(
    t: number,
    direction: Tensor,
    start: readonly Tensor[],
    evaluate: () => Reading<Evaluation>,
  ): Reading<Evaluation> {
    this.move(t, direction);
    const result = yield* evaluate();
    this.paramGroups[0].params.forEach((param, i) => param.copy_(start[i]!));
    return result;
  }

  /** The next direction, from the gradient and what is remembered. */
  private *direct(group: LBFGSOptions, grad: Tensor): Reading<Memory> {
    if (this._memory === null) {
      return (this._memory = {
        direction: keep(grad.neg()),
        t: group.lr,
        gradDifferences: [],
        steps: [],
        inverses: [],
        scale: 1,
        previousGrad: grad,
        previousLoss: 0,
      });
    }
    const memory = this._memory;
    const { gradDifferences, steps, inverses } = memory;
    const y = grad.sub(memory.previousGrad);
    const s = memory.direction.mul(memory.t);
    const ys = yield* read(y.dot(s));
    if (ys > 1e-10) {
      if (steps.length === group.historySize) {
        gradDifferences.shift();
        steps.shift();
        inverses.shift();
      }
      gradDifferences.push(keep(y));
      steps.push(keep(s));
      inverses.push(1 / ys);
      memory.scale = ys / (yield* read(y.dot(y)));
    }
    const weights: number[] = [];
    const direction = grad.neg();
    for (let i = steps.length - 1; i >= 0; i--) {
      weights[i] = (yield* read(steps[i]!.dot(direction))) * inverses[i]!;
      direction.add_(gradDifferences[i]!, { alpha: -weights[i]! });
    }
    direction.mul_(memory.scale);
    for (let i = 0; i < steps.length; i++) {
      const correction = (yield* read(gradDifferences[i]!.dot(direction))) * inverses[i]!;
      direction.add_(steps[i]!, { alpha: weights[i]! - correction });
    }
    memory.direction = keep(direction);
    return memory;
  }

  /** Gradients of all parameters, one after another. */
  private flatGrad(): Tensor {
    return cat(
      this.paramGroups[0].params.map(
        ({ grad, numel, dtype, device }) =>
          grad?.reshape([-1]) ?? zeros([numel], { dtype, device }),
      ),
    );
  }

  private move(t: number, direction: Tensor): void {
    let at = 0;
    for (const param of this.paramGroups[0].params) {
      param.add_(direction.narrow(0, at, param.numel).reshape(param.shape), { alpha: t });
      at += param.numel;
    }
  }
}
