/**
 * @file Combines the partial results of lanes and threads until every thread holds the whole.
 *
 * The four lanes of a vector first, then threads: with subgroup operations where neighbouring threads
 * share an outer point and the adapter has them, else by halving in workgroup memory. All reductions of
 * a stage go together, so a stage costs the same few barriers however many it has.
 */
import type { Reduction } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { CodeBlock } from './code-block.js';
import { mergeParts, resultsOf, type PartialResult } from './partial-result.js';
import type { ProgramBuilder } from './program.js';
import { constantValue, named, type ReductionSite } from './reduction-values.js';
import type { ReductionSchedule } from './reduction-schedule.js';
import type { Value } from './value.js';
import { computeType, typeName, type ScalarType } from './wgsl-types.js';

/** What one thread has of a reduction, in variables. */
interface Share {
  readonly reduction: Reduction;
  readonly site: ReductionSite;
  readonly ids: readonly number[];
  readonly parts: readonly Value[];
}

/** See the file header. */
export class WorkgroupReducer {
  /** Entry point parameters that the emitted code needs. */
  readonly builtins: string[] = [];
  private readonly scratch = new Map<string, string>();
  private scratchInUse = false;
  private readonly threads: number;

  /** `size` values are reduced to each result. */
  constructor(
    private readonly builder: ProgramBuilder,
    private readonly body: CodeBlock,
    private readonly schedule: ReductionSchedule,
    private readonly size: Size,
  ) {
    this.threads = schedule.innerThreads * schedule.outerThreads;
  }

  /** Combines the partial results of a stage; `lanes` says that vector lanes hold parts too. */
  finish(partials: readonly PartialResult[], lanes: boolean): { id: number; value: Value }[] {
    if (partials.length === 0) return [];
    const shares = partials.map((partial): Share => {
      const { reduction, site, ids } = partial;
      const share: Share = { reduction, site, ids, parts: partial.handOver() };
      return lanes ? this.foldLanes(share) : share;
    });
    if (this.schedule.innerThreads > 1) {
      if (this.canShuffle) this.shuffle(shares);
      else this.halve(shares, this.schedule.innerThreads);
    }
    return shares.flatMap(({ reduction, site, ids, parts }) => {
      const results = resultsOf(
        this.body,
        reduction,
        parts,
        (dtype) => this.count(dtype, site),
        site,
      );
      return ids.map((id, i) => ({ id, value: results[i]! }));
    });
  }

  /** Number of values that are reduced to each result. */
  private count(dtype: DType, site: ReductionSite): Value {
    const { size, builder } = this;
    if (typeof size === 'number') return constantValue(size, dtype, site);
    const type = computeType(dtype);
    return { text: `${typeName(type, 1)}(${builder.size(size)})`, type, width: 1, atom: true };
  }

  private get canShuffle(): boolean {
    const { subgroups } = this.builder.target;
    return (
      subgroups !== null && this.schedule.fast === 'inner' && this.threads % subgroups.max === 0
    );
  }

  private foldLanes(share: Share): Share {
    const { reduction } = share;
    const site: ReductionSite = { ...share.site, width: 1 };
    const parts = share.parts.map((part): Value => {
      const text = this.builder.names.fresh(`${part.text}_`);
      this.body.line(`var ${text} = ${part.text}.x;`);
      return { ...part, text, width: 1 };
    });
    for (const lane of ['y', 'z', 'w']) {
      const others = share.parts.map((part): Value => ({
        ...part,
        text: `${part.text}.${lane}`,
        width: 1,
      }));
      mergeParts(this.body, reduction, parts, others, site);
    }
    return { ...share, site, parts };
  }

  /** Workgroup arrays for all variables of a stage; shared by all stages. */
  private arrays(shares: readonly Share[], length: number): string[][] {
    const counts = new Map<string, number>();
    if (this.scratchInUse) this.body.line('workgroupBarrier();');
    this.scratchInUse = true;
    return shares.map(({ parts }) =>
      parts.map(({ type, width }) => {
        const element = typeName(carrier(type), width);
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
  private halve(shares: readonly Share[], count: number): void {
    const { body, schedule } = this;
    const stride = schedule.fast === 'inner' ? 1 : schedule.outerThreads;
    const arrays = this.arrays(shares, this.threads);
    const write = (block: CodeBlock, { parts }: Share, i: number): void =>
      parts.forEach((part, j) => block.line(`${arrays[i][j]}[lane] = ${carried(part)};`));
    shares.forEach((share, i) => write(body, share, i));
    body.line('workgroupBarrier();');
    const half = this.builder.names.fresh('half');
    const step = new CodeBlock();
    const other = stride === 1 ? `lane + ${half}` : `lane + ${half} * ${stride}u`;
    shares.forEach((share, i) => {
      this.mergeFrom(step, share, (j) => `${arrays[i][j]}[${other}]`);
      write(step, share, i);
    });
    const loop = new CodeBlock();
    loop.nest(`if (part < ${half})`, step);
    loop.line('workgroupBarrier();');
    body.nest(`for (var ${half} = ${count / 2}u; ${half} > 0u; ${half} = ${half} >> 1u)`, loop);
    const first = stride === 1 ? 'lane - part' : `lane - part * ${stride}u`;
    this.readAll(shares, arrays, first);
  }

  /** Merges what lies at some places, texts by variable, into a share. */
  private mergeFrom(block: CodeBlock, share: Share, placeOf: (j: number) => string): void {
    const { reduction, site, parts } = share;
    const others = parts.map((part, j) =>
      named(block, { ...part, text: restored(placeOf(j), part) }, { ...site, fresh: this.fresh }),
    );
    mergeParts(block, reduction, parts, others, site);
  }

  private readonly fresh = (): string => this.builder.names.fresh('o');

  private readAll(shares: readonly Share[], arrays: readonly string[][], at: string): void {
    for (const [i, { parts }] of shares.entries())
      for (const [j, part] of parts.entries())
        this.body.line(`${part.text} = ${restored(`${arrays[i][j]}[${at}]`, part)};`);
  }

  /** Butterfly within each subgroup, then one value per subgroup through workgroup memory. */
  private shuffle(shares: readonly Share[]): void {
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
    for (const share of shares)
      this.mergeFrom(step, share, (j) => `subgroupShuffleXor(${carried(share.parts[j])}, ${mask})`);
    body.nest(`for (var ${mask} = 1u; ${mask} < ${reach}; ${mask} = ${mask} << 1u)`, step);
    if (innerThreads <= min) return;

    const arrays = this.arrays(shares, this.threads / min);
    const write = new CodeBlock();
    for (const [i, { parts }] of shares.entries()) {
      for (const [j, part] of parts.entries())
        write.line(`${arrays[i][j]}[lane / ${size}] = ${carried(part)};`);
    }
    body.nest(`if (lane % ${size} == 0u)`, write);
    body.line('workgroupBarrier();');
    const first = builder.names.fresh('first');
    const index = builder.names.fresh('i');
    body.line(`let ${first} = (lane - part) / ${size};`);
    this.readAll(shares, arrays, first);
    const rest = new CodeBlock();
    for (const [i, share] of shares.entries())
      this.mergeFrom(rest, share, (j) => `${arrays[i][j]}[${first} + ${index}]`);
    body.nest(`for (var ${index} = 1u; ${index} < ${innerThreads}u / ${size}; ${index}++)`, rest);
  }
}

/** Type in which values go from thread to thread: neither workgroup memory nor subgroups carry bool. */
export function carrier(type: ScalarType): Exclude<ScalarType, 'bool'> {
  return type === 'bool' ? 'u32' : type;
}

function carried({ text, type, width }: Value): string {
  return type === 'bool' ? `${typeName('u32', width)}(${text})` : text;
}

/** What was carried, in the type that it had. */
function restored(text: string, { type, width }: Value): string {
  return type === 'bool' ? `${text} != ${typeName('u32', width)}(0u)` : text;
}
