/**
 * @file Combines the partial results of lanes and threads until every thread holds the whole.
 *
 * The four lanes of a vector first, then threads: with subgroup operations where neighbouring threads
 * share an outer point and the adapter has them, else by halving in workgroup memory. All reductions of
 * a stage go together, so a stage costs the same few barriers however many it has.
 */
import { CodeBlock } from './code-block.js';
import type { ProgramBuilder } from './program.js';
import { reduceForm, type ReduceSite, type StateType } from './reduce-ops.js';
import type { ReductionSchedule } from './reduction-schedule.js';
import type { Value } from './value.js';
import { typeName } from './wgsl-types.js';

/** A reduction in progress: the variables that hold this thread's part. */
export interface PartialResult {
  readonly site: ReduceSite;
  readonly ids: readonly number[];
  readonly state: readonly string[];
  readonly types: readonly StateType[];
}

/** See the file header. */
export class WorkgroupReducer {
  /** Entry point parameters that the emitted code needs. */
  readonly builtins: string[] = [];
  private readonly scratch = new Map<string, string>();
  private scratchInUse = false;
  private readonly threads: number;

  constructor(
    private readonly builder: ProgramBuilder,
    private readonly body: CodeBlock,
    private readonly schedule: ReductionSchedule,
  ) {
    this.threads = schedule.innerThreads * schedule.outerThreads;
  }

  /** Declares the running state of a reduction. */
  declare(site: ReduceSite, ids: readonly number[]): PartialResult {
    const variables = reduceForm(site).variables(site);
    const state = variables.map((variable) => {
      const name = this.builder.names.fresh(variable.name);
      this.body.line(`var ${name} = ${typeName(variable.type, site.width)}(${variable.initial});`);
      return name;
    });
    return { site, ids, state, types: variables.map((variable) => variable.type) };
  }

  /** Combines the partial results of a stage; `lanes` says that vector lanes hold parts too. */
  finish(partials: readonly PartialResult[], lanes: boolean): { id: number; value: Value }[] {
    if (partials.length === 0) return [];
    const whole = lanes ? partials.map((partial) => this.foldLanes(partial)) : partials;
    if (this.schedule.innerThreads > 1) {
      if (this.canShuffle) this.shuffle(whole);
      else this.halve(whole, this.schedule.innerThreads);
    }
    return whole.flatMap(({ site, ids, state }) => {
      const results = reduceForm(site).results(state, site);
      return ids.map((id, i) => ({ id, value: { ...results[i], width: site.width, atom: false } }));
    });
  }

  private get canShuffle(): boolean {
    const { subgroups } = this.builder.target;
    return (
      subgroups !== null && this.schedule.fast === 'inner' && this.threads % subgroups.max === 0
    );
  }

  private foldLanes(partial: PartialResult): PartialResult {
    const site: ReduceSite = {
      ...partial.site,
      width: 1,
      helper: (name) => this.builder.helpers.use(name, 1),
    };
    const state = partial.state.map((name) => {
      const scalar = this.builder.names.fresh(`${name}_`);
      this.body.line(`var ${scalar} = ${name}.x;`);
      return scalar;
    });
    for (const lane of ['y', 'z', 'w']) {
      this.merge(
        this.body,
        site,
        state,
        partial.state.map((name) => `${name}.${lane}`),
      );
    }
    return { ...partial, site, state };
  }

  private merge(
    block: CodeBlock,
    site: ReduceSite,
    a: readonly string[],
    b: readonly string[],
  ): void {
    for (const line of reduceForm(site).merge(a, b, site)) block.line(line);
  }

  /** Workgroup arrays for all state variables of a stage; shared by all stages. */
  private arrays(partials: readonly PartialResult[], length: number): string[][] {
    const counts = new Map<string, number>();
    if (this.scratchInUse) this.body.line('workgroupBarrier();');
    this.scratchInUse = true;
    return partials.map(({ site, types }) =>
      types.map((type) => {
        const element = typeName(type, site.width);
        const count = counts.get(element) ?? 0;
        counts.set(element, count + 1);
        const key = `${element}:${count}`;
        let name = this.scratch.get(key);
        if (name === undefined) {
          name = this.builder.workgroupArray('shared_', element, length);
          this.scratch.set(key, name);
        }
        return name;
      }),
    );
  }

  /** Halves the number of partial results in workgroup memory until one is left. */
  private halve(partials: readonly PartialResult[], count: number): void {
    const { body, schedule } = this;
    const stride = schedule.fast === 'inner' ? 1 : schedule.outerThreads;
    const arrays = this.arrays(partials, this.threads);
    for (const [i, { state }] of partials.entries()) {
      for (const [j, name] of state.entries()) body.line(`${arrays[i][j]}[lane] = ${name};`);
    }
    body.line('workgroupBarrier();');
    const half = this.builder.names.fresh('half');
    const step = new CodeBlock();
    const other = stride === 1 ? `lane + ${half}` : `lane + ${half} * ${stride}u`;
    for (const [i, { site, state }] of partials.entries()) {
      const theirs = arrays[i].map((array) => {
        const name = this.builder.names.fresh('o');
        step.line(`let ${name} = ${array}[${other}];`);
        return name;
      });
      this.merge(step, site, state, theirs);
      for (const [j, name] of state.entries()) step.line(`${arrays[i][j]}[lane] = ${name};`);
    }
    const loop = new CodeBlock();
    loop.nest(`if (part < ${half})`, step);
    loop.line('workgroupBarrier();');
    body.nest(`for (var ${half} = ${count / 2}u; ${half} > 0u; ${half} = ${half} >> 1u)`, loop);
    const first = stride === 1 ? 'lane - part' : `lane - part * ${stride}u`;
    for (const [i, { state }] of partials.entries()) {
      for (const [j, name] of state.entries()) body.line(`${name} = ${arrays[i][j]}[${first}];`);
    }
  }

  /** Butterfly within each subgroup, then one value per subgroup through workgroup memory. */
  private shuffle(partials: readonly PartialResult[]): void {
    const { body, schedule, builder } = this;
    const { min, max } = builder.target.subgroups as { min: number; max: number };
    const { innerThreads } = schedule;
    builder.requireSubgroups();
    let size = `${min}u`;
    if (min !== max) {
      size = 'subgroup_size';
      if (this.builtins.length === 0)
        this.builtins.push('@builtin(subgroup_size) subgroup_size: u32');
    }
    const mask = builder.names.fresh('mask');
    const reach =
      innerThreads <= min
        ? `${innerThreads}u`
        : innerThreads >= max
          ? size
          : `min(${innerThreads}u, ${size})`;
    const step = new CodeBlock();
    for (const { site, state } of partials) {
      const theirs = state.map((name) => {
        const other = builder.names.fresh('o');
        step.line(`let ${other} = subgroupShuffleXor(${name}, ${mask});`);
        return other;
      });
      this.merge(step, site, state, theirs);
    }
    body.nest(`for (var ${mask} = 1u; ${mask} < ${reach}; ${mask} = ${mask} << 1u)`, step);
    if (innerThreads <= min) return;

    const arrays = this.arrays(partials, this.threads / min);
    const write = new CodeBlock();
    for (const [i, { state }] of partials.entries()) {
      for (const [j, name] of state.entries())
        write.line(`${arrays[i][j]}[lane / ${size}] = ${name};`);
    }
    body.nest(`if (lane % ${size} == 0u)`, write);
    body.line('workgroupBarrier();');
    const first = builder.names.fresh('first');
    const index = builder.names.fresh('i');
    body.line(`let ${first} = (lane - part) / ${size};`);
    for (const [i, { state }] of partials.entries()) {
      for (const [j, name] of state.entries()) body.line(`${name} = ${arrays[i][j]}[${first}];`);
    }
    const rest = new CodeBlock();
    for (const [i, { site, state }] of partials.entries()) {
      this.merge(
        rest,
        site,
        state,
        arrays[i].map((array) => this.read(rest, `${array}[${first} + ${index}]`)),
      );
    }
    body.nest(`for (var ${index} = 1u; ${index} < ${innerThreads}u / ${size}; ${index}++)`, rest);
  }

  private read(block: CodeBlock, text: string): string {
    const name = this.builder.names.fresh('o');
    block.line(`let ${name} = ${text};`);
    return name;
  }
}
