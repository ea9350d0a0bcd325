/**
 * @file `ZeroRedundancyOptimizer`: each rank keeps the optimizer state of its share of the parameters.
 *
 * A step updates the own share and sends it to the others. Shares are about equally large: parameters, largest first,
 * go to the rank that has least. Modelled on `torch.distributed.optim.ZeroRedundancyOptimizer` (ZeRO stage 1, Rajbhandari
 * et al. 2020).
 */
import { TesseraError } from '@tessera/shared';
import type { ZeroGradOptions, optim } from '@tessera/nn';
import { type DType, type Tensor, callOp, cat, isTensor, noGrad, zeros } from '@tessera/tensor';
import { formatSizes, gradientOf, inLibraryScope, sameNumbers } from '@tessera/tensor/internal';
import { gatherTexts } from './agreement.js';
import { broadcastOp, waitOp } from './functional/ops.js';
import { tensorBuffer } from './host-buffer.js';
import { requireBlocking } from './needs-awaiting.js';
import { type ProcessGroup, groupNamed } from './process-group.js';

type Group = optim.ParamGroup;
type StateDict = optim.OptimizerStateDict;
type OwnState = Readonly<Record<string, Tensor | number>>;

/** The class of the optimizer that each rank runs. */
export type OptimizerClass<O extends object> = new (
  params: Iterable<Tensor>,
  options?: O,
) => { step(): unknown };

/** See the file header. */
export class ZeroRedundancyOptimizer<O extends object = object> {
  /** All groups, with the parameters of all ranks: options may be changed here, on every rank alike. */
  readonly paramGroups: Group[];
  private readonly local: optim.Optimizer | null;
  /** For each group of `local`, the group here that it is a part of. */
  private readonly groupOf: readonly Group[];
  private readonly owners = new Map<Tensor, number>();
  private readonly group: ProcessGroup;
  private consolidated: StateDict | null = null;

  /**
   * @param params parameters, or groups of them, the same on every rank
   * @throws distributed-unavailable, invalid-argument
   * @example new ZeroRedundancyOptimizer(model.parameters(), optim.AdamW, { lr: 1e-3 });
   */
  constructor(
    params: optim.OptimizerParams<never>,
    type: OptimizerClass<O>,
    options: O = {} as O,
    { processGroup = groupNamed() }: { readonly processGroup?: ProcessGroup } = {},
  ) {
    this.group = processGroup;
    const make = type as new (params: unknown, options: O) => optim.Optimizer;
    // It checks the options, and fills in the defaults; it makes no state before it steps.
    this.paramGroups = new make(params, options).paramGroups;
    this.share();
    const own = this.paramGroups.map((group) => ({
      group,
      params: group.params.filter((param) => this.owners.get(param) === processGroup.rank),
    }));
    const filled = own.filter(({ params: some }) => some.length > 0);
    this.groupOf = filled.map(({ group }) => group);
    this.local =
      filled.length === 0
        ? null
        : new make(
            filled.map(({ group, params: some }) => ({ ...group, params: some })),
            options,
          );
  }

  private share(): void {
    const load = Array.from({ length: this.group.size }, () => 0);
    const all = this.paramGroups.flatMap(({ params }) => params);
    for (const param of [...all].sort((a, b) => b.numel - a.numel)) {
      const owner = load.indexOf(Math.min(...load));
      this.owners.set(param, owner);
      load[owner]! += param.numel;
    }
  }

  /**
   * Updates every parameter that has a gradient, on the rank that owns it, and sends it to the others.
   *
   * @throws data-async-only, before anything is changed, where parameters are not on `cpu` or the communicator cannot
   *   block
   */
  step(): void {
    this.requireBlocking('step');
    this.local?.paramGroups.forEach((group, i) => {
      const { params: _params, ...options } = this.groupOf[i]!;
      Object.assign(group, options);
    });
    this.local?.step();
    this.consolidated = null;
    if (this.group.size > 1) inLibraryScope(() => noGrad(() => this.sendShares()));
  }

  private sendShares(): void {
    const shares = this.shares();
    const sent = shares.map(({ owner, params }) => {
      const flat = cat(params.map((param) => param.detach().reshape([-1])));
      return callOp(broadcastOp, [flat, owner, this.group.name]);
    });
    shares.forEach(({ params }, i) => {
      const flat = callOp(waitOp, [sent[i]]);
      let offset = 0;
      for (const param of params) {
        param.copy_(flat.narrow(0, offset, param.numel).view(param.sizes));
        offset += param.numel;
      }
    });
  }

  /** @throws data-async-only */
  private requireBlocking(what: string): void {
    if (this.group.size > 1)
      requireBlocking(`ZeroRedundancyOptimizer.${what}`, this.group, this.owners.keys());
  }

  /** Parameters that were updated, by owner and dtype. */
  private shares(): { owner: number; params: Tensor[] }[] {
    const found = new Map<string, { owner: number; params: Tensor[] }>();
    for (const [param, owner] of this.owners) {
      if (gradientOf(param) === null) continue;
      const key = `${owner} ${param.dtype}`;
      const share = found.get(key);
      if (share === undefined) found.set(key, { owner, params: [param] });
      else share.params.push(param);
    }
    return [...found.values()].sort((a, b) => a.owner - b.owner);
  }

  /** Clears all gradients: sets them to null, or to zero. */
  zeroGrad(options?: ZeroGradOptions): void {
    for (const param of this.owners.keys()) {
      if (options?.setToNone ?? true) param.grad = null;
      else gradientOf(param)?.zero_();
    }
  }

  /**
   * Collects the state of all ranks on rank `to`, for `stateDict()` there. Every rank calls it.
   *
   * @throws data-async-only as `step()`, distributed-mismatch
   */
  consolidateStateDict(to = 0): void {
    this.requireBlocking('consolidateStateDict');
    const { group, local } = this;
    const numbers = new Map<Tensor, number>(
      this.paramGroups.flatMap(({ params }) => params).map((param, i) => [param, i]),
    );
    const own = local === null ? new Map<number, OwnState>() : this.stateByNumber(local, numbers);
    const described = JSON.stringify(describe(own));
    const texts = group.size === 1 ? [described] : gatherTexts(group, described);
    const lists = texts.map((text): Described[] => JSON.parse(text));
    const state: Record<number, Record<string, Tensor | number>> = {};
    lists.forEach((list, rank) => {
      for (const { number, name, value, dtype, sizes } of list) {
        const entry = (state[number] ??= {});
        if (dtype === null) entry[name] = value!;
        else entry[name] = this.sendFrom(rank, own.get(number)?.[name], dtype, sizes, to);
      }
    });
    if (group.rank !== to) return;
    let next = 0;
    this.consolidated = {
      state,
      paramGroups: this.paramGroups.map(({ params, ...options }) => ({
        ...options,
        params: params.map(() => next++),
      })),
    };
  }

  private sendFrom(
    rank: number,
    own: Tensor | number | undefined,
    dtype: DType,
    sizes: readonly number[],
    to: number,
  ): Tensor {
    const mine = this.group.rank === rank;
    const tensor = mine ? (own as Tensor).detach().contiguous() : zeros(sizes, { dtype });
    if (this.group.size > 1)
      this.group.communicator.broadcast(tensorBuffer(tensor), rank).waitSync();
    if (!mine && this.group.rank !== to) tensor.dispose();
    return tensor;
  }

  private stateByNumber(
    local: optim.Optimizer,
    numbers: ReadonlyMap<Tensor, number>,
  ): Map<number, OwnState> {
    const { state } = local.stateDict();
    const params = local.paramGroups.flatMap((group) => group.params);
    return new Map(
      Object.entries(state).map(([i, entry]) => [numbers.get(params[Number(i)]!)!, { ...entry }]),
    );
  }

  /** The whole state, in PyTorch's form. @throws distributed-mismatch where it has not been collected */
  stateDict(): StateDict {
    if (this.consolidated !== null) return this.consolidated;
    throw new TesseraError(
      'distributed-mismatch',
      `Optimizer state has not been consolidated on this rank (${this.group.rank}) since the last step.`,
      { hints: ['Call consolidateStateDict(to) on every rank before stateDict() on rank `to`.'] },
    );
  }

  /**
   * Takes over the own share of a whole state, also one of another number of ranks.
   *
   * @throws state-dict-mismatch on every rank, before anything is changed
   */
  loadStateDict(dict: StateDict): void {
    const saved = this.savedStates(dict);
    this.paramGroups.forEach((group, i) => {
      const { params: _params, ...options } = dict.paramGroups[i]!;
      Object.assign(group, options);
    });
    const { local } = this;
    if (local === null) return;
    let next = 0;
    const state: Record<number, OwnState> = {};
    const paramGroups = local.paramGroups.map((group) => {
      const { params, ...options } = group;
      return {
        ...options,
        params: params.map((param) => {
          const entry = saved.get(param);
          if (entry !== undefined) state[next] = { ...entry };
          return next++;
        }),
      };
    });
    local.loadStateDict({ state, paramGroups });
  }

  /** The state of every parameter, also of those that other ranks own. @throws state-dict-mismatch */
  private savedStates({ state, paramGroups }: StateDict): Map<Tensor, OwnState> {
    if (paramGroups.length !== this.paramGroups.length)
      throw doesNotFit(
        `it has ${paramGroups.length} groups of parameters, the optimizer ${this.paramGroups.length}`,
      );
    const saved = new Map<Tensor, OwnState>();
    this.paramGroups.forEach(({ params }, i) => {
      const numbers = paramGroups[i]!.params;
      if (numbers.length !== params.length)
        throw doesNotFit(
          `group ${i} has ${numbers.length} parameters, that of the optimizer ${params.length}`,
        );
      params.forEach((param, at) => {
        const entry = state[numbers[at]!];
        if (entry === undefined) return;
        for (const [name, value] of Object.entries(entry))
          if (isTensor(value) && value.ndim > 0 && !sameNumbers(value.sizes, param.sizes))
            throw doesNotFit(
              `${name} of parameter ${numbers[at]} has shape ${formatSizes(value.sizes)}, the parameter ${formatSizes(param.sizes)}`,
            );
        saved.set(param, entry);
      });
    });
    return saved;
  }
}

function doesNotFit(why: string): TesseraError {
  return new TesseraError('state-dict-mismatch', `The state does not fit: ${why}.`, {
    hints: ['Make the optimizer with the same groups of parameters as the one that was saved.'],
  });
}

/** One value of a parameter's state. */
interface Described {
  readonly number: number;
  readonly name: string;
  readonly value: number | null;
  readonly dtype: DType | null;
  readonly sizes: readonly number[];
}

function describe(state: ReadonlyMap<number, OwnState>): Described[] {
  return [...state].flatMap(([number, entry]) =>
    Object.entries(entry).map(([name, value]) =>
      typeof value === 'number'
        ? { number, name, value, dtype: null, sizes: [] }
        : { number, name, value: null, dtype: value.dtype, sizes: value.sizes },
    ),
  );
}
