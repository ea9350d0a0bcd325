/**
 * @file `Optimizer`: the base of the update rules.
 *
 * A step has two parts. On the host, natively on every call: which parameters have gradients, missing
 * state, step counts, and every number that follows from them and the options. Then the update itself,
 * a trusted region: in-place ops on parameters, gradients and state, with those numbers as its inputs.
 * So a compiled training step takes a new learning rate or step count without being compiled again.
 *
 * A subclass says which choices select its ops (`structure`), which state it keeps (`stateTensors`),
 * the numbers of a step (`scalars`) and the update of one bucket (`update`). Modelled on
 * `torch.optim.Optimizer` and its single-tensor algorithms.
 */
import { checkOptionNames, inspectsAs } from '@tessera/shared';
import { type Tensor, enableGrad, keep, noGrad } from '@tessera/tensor';
import {
  activeMode,
  gradientOf,
  inLibraryScope,
  trackClass,
  trustedRegion,
  withoutModes,
} from '@tessera/tensor/internal';
import { pythonLiteral } from '../module/module-repr.js';
import { type ZeroGradOptions, clearGrads } from '../module/clear-grad.js';
import { isTrustedUpdate } from './trusted-updates.js';
import {
  type Bucket,
  type Carried,
  type ParamState,
  type Plan,
  type Structure,
  holdsStates,
  makeBuckets,
  planOf,
  sameStructure,
} from './bucket.js';
import { type OptimizerStateDict, exportState, importState } from './optimizer-state-dict.js';
import {
  type CommonOptions,
  type OptimizerParams,
  type OptionsInput,
  type ParamGroup,
  type ParamGroupInput,
  checkGroupNames,
  checkedParams,
  toGroups,
} from './param-group.js';
import type { Lifted } from './lifted.js';
import { bindTensors, rateOf } from './tensor-rate.js';

/** See the file header. `O` are the options of a group, `S` the numbers of a step. */
export abstract class Optimizer<
  O extends CommonOptions = CommonOptions,
  S extends object = object,
> {
  /** Groups of parameters with their options, which may be changed between steps. */
  readonly paramGroups: ParamGroup<O>[] = [];
  /** Options of groups that do not set their own. */
  readonly defaults: O;
  /** State of every parameter that was updated; may be edited between steps. @see torch.optim.Optimizer.state */
  readonly state: Map<Tensor, ParamState> = new Map();
  /** The learning rate of those groups. */
  private readonly _rate: number | Tensor;
  private _plan: Plan<O> = planOf<O>([], []);

  /** `options` replace the defaults of the same names. @throws invalid-argument */
  constructor(params: OptimizerParams<O>, defaults: O, options: OptionsInput<O> = {}) {
    checkOptionNames(this.constructor.name, options, defaults);
    const { lr = defaults.lr } = options;
    this._rate = lr;
    this.defaults = { ...defaults, ...options, lr: rateOf(lr) };
    for (const group of toGroups(params)) this.addParamGroup(group);
  }

  // ---- what an update rule says

  /** Throws invalid-argument if options are out of range. */
  protected abstract checkOptions(group: O): void;
  /** Choices that select the ops of the update. */
  protected abstract structure(group: O): Structure;
  /** Creates the state tensors of a parameter; called outside any trace. */
  protected abstract stateTensors(param: Tensor, group: O): Record<string, Tensor>;
  /** Numbers of update number `step` (from 1), computed on the host. */
  protected abstract scalars(group: O, step: number, carried: Carried): S;
  /** What update number `step`, which found `before`, leaves for the next: the options of every step so far are in it. */
  protected carry(_group: O, _step: number, before: Carried): Carried {
    return before;
  }
  /** Updates one bucket in place; the numbers may only be arguments of ops. */
  protected abstract update(bucket: Bucket<O>, scalars: Lifted<S>): void;

  // ---- parameters

  /** Adds a group; options left out are the defaults, names of the program's own are kept. @throws invalid-argument */
  addParamGroup(input: ParamGroupInput<O>): void {
    checkGroupNames(this, input, this.defaults);
    const lr = input.lr ?? this._rate;
    const params = checkedParams(input.params, this.paramGroups);
    const own: Record<string, unknown> = {};
    const group = Object.assign(own, this.defaults, input, { ...params, lr: rateOf(lr) });
    bindTensors(group, 'lr', lr);
    bindTensors(group, 'betas', group['betas']);
    this.checkOptions(group);
    this.paramGroups.push(group);
  }

  /** Clears all gradients: sets them to null, or to zero. */
  zeroGrad(options?: ZeroGradOptions): void {
    for (const group of this.paramGroups) clearGrads(group.params, options);
  }

  // ---- steps

  /**
   * Updates every parameter that has a gradient.
   *
   * @param closure computes the loss again, with gradients; its result is returned
   */
  step(closure: (() => Tensor) | null = null): Tensor | null {
    const loss = closure === null ? null : enableGrad(closure);
    const { buckets, _active, _tensors, _choices, _parts: parts } = this.prepare();
    const scalars = buckets.map(({ _group, _records: records }) => {
      // Options that are tensors are read once: in a compiled step each reading breaks the graph.
      const group = { ..._group };
      const { step, carried } = records[0]!;
      const next = this.carry(group, step, carried);
      for (const record of records) record.carried = next;
      return this.scalars(group, step, carried);
    });
    const update = (inputs: { readonly scalars: readonly S[] }): void => {
      const lifted = inputs.scalars as unknown as Lifted<S>[];
      noGrad(() => buckets.forEach((bucket, i) => this.update(bucket, lifted[i]!)));
    };
    // An update of the user's own may read anything; a leaf that a compiled call makes is nothing that exists before it.
    if (!isTrustedUpdate(this.update) || buckets.some(({ params }) => params.some(isMadeByCall)))
      update({ scalars });
    else if (activeMode(_active) === null) inLibraryScope(() => update({ scalars }));
    else {
      const reads = _tensors.concat(_active.map((param) => gradientOf(param)!));
      trustedRegion(this, 'step', { reads, scalars, buckets: _choices, parts }, update);
    }
    return loss;
  }

  /** The plan of this step, with step counts already advanced. */
  private prepare(): Plan<O> {
    if (!this.planHolds()) this._plan = this.makePlan();
    for (const bucket of this._plan.buckets) for (const record of bucket._records) record.step++;
    return this._plan;
  }

  /** Whether the last plan fits: the same parameters have gradients and state, with the same choices. */
  private planHolds(): boolean {
    const { buckets, _active: active } = this._plan;
    let at = 0;
    for (const group of this.paramGroups) {
      for (const param of group.params) {
        if (gradientOf(param) === null) continue;
        if (active[at] !== param) return false;
        at++;
      }
    }
    if (at !== active.length) return false;
    return buckets.every(
      (bucket) =>
        sameStructure(bucket.structure, this.structure(bucket._group)) &&
        holdsStates(bucket, this.state),
    );
  }

  private makePlan(): Plan<O> {
    const active: Tensor[] = [];
    const buckets = this.paramGroups.flatMap((group) => {
      const params = group.params.filter((param) => gradientOf(param) !== null);
      active.push(...params);
      return makeBuckets(
        group,
        this.structure(group),
        params,
        params.map((param) => this.readyState(param, group)),
      );
    });
    return planOf(buckets, active);
  }

  /** The state of a parameter with all tensors that its group's choices ask for. */
  private readyState(param: Tensor, group: ParamGroup<O>): ParamState {
    const make = (): Record<string, Tensor> => noGrad(() => this.stateTensors(param, group));
    // Made now, not recorded: a trace must find the state as something that exists, like its parameter.
    const fresh = isMadeByCall(param) ? make() : withoutModes(make);
    const state = this.state.get(param) ?? { step: 0, carried: {}, tensors: {} };
    for (const [name, tensor] of Object.entries(fresh)) state.tensors[name] ??= keep(tensor);
    this.state.set(param, state);
    return state;
  }

  /** Where a tracer finds tensors: the plan of the last step; the same object as long as it holds. */
  _trackedState(): object {
    return this._plan;
  }

  // ---- state

  /** State by parameter number, by PyTorch's names, and groups with our names of options; shares memory with the optimizer. */
  stateDict(): OptimizerStateDict {
    return exportState(this.paramGroups, this.state);
  }

  /**
   * Takes over options and copies state: of a `stateDict()`, of PyTorch's with `param_groups`, or of what
   * `loadTorchCheckpoint` gives of one, which is tensors alone; options come with its `onValues`.
   *
   * @throws state-dict-mismatch, before anything is changed
   * @example
   * let options = {};
   * const state = await loadTorchCheckpoint(path, { prefix: 'optimizer', onValues: (values) => (options = values) });
   * optimizer.loadStateDict({ ...state, ...options });
   */
  loadStateDict(dict: OptimizerStateDict | Readonly<Record<string, unknown>>): void {
    importState(dict, this, (param, group) =>
      withoutModes(() => noGrad(() => this.stateTensors(param, group))),
    );
    this._plan = planOf<O>([], []);
  }

  /** As PyTorch prints optimizers. */
  toString(): string {
    const groups = this.paramGroups.map((group, i) => {
      const options = Object.entries(group)
        .filter(([name]) => name !== 'params')
        .sort(([a], [b]) => (a < b ? -1 : 1));
      return [
        `Parameter Group ${i}`,
        ...options.map(([name, value]) => `    ${name}: ${pythonLiteral(value)}`),
      ].join('\n');
    });
    return `${this.constructor.name} (\n${groups.join('\n\n')}\n)`;
  }
}

/** Whether a parameter has no value yet, because the compiled call that makes it is still being traced. */
function isMadeByCall({ isLazy }: Tensor): boolean {
  return isLazy;
}

trackClass(Optimizer);
inspectsAs(Optimizer);
// The name by which a tracer asks.
Object.defineProperty(Optimizer.prototype, Symbol.for('tessera.trackedState'), {
  value: Optimizer.prototype._trackedState,
});
