/**
 * @file The accumulators of a scheduled kernel in WGSL: variables of a thread, and their way through shared memory.
 */
import {
  type Accumulator,
  operandsOf,
  type Reduction,
  type ScheduledKernel,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { CodeBlock } from '../code-block.js';
import type { ExprEmitter } from '../values/expr-emitter.js';
import { mergeParts, PartialResult, resultsOf } from './partial-result.js';
import { constantValue, named, type ReductionSite } from '../values/reduction-values.js';
import type { Value } from '../values/value.js';
import { computeType, typeName, type ScalarType } from '../values/wgsl-types.js';

/** Where an accumulator is: its state, then the variables of its parts. */
interface Progress {
  readonly accumulator: Accumulator;
  readonly state: PartialResult;
  readonly site: ReductionSite;
  readonly parts: readonly Value[];
}

/** See the file header. */
export class AccumulatorEmitter {
  private readonly progress = new Map<string, Progress>();
  private readonly arrays = new Map<string, string>();
  private readonly fresh = (): string => this.emitter.builder.names.fresh('o');

  /** `size` values are reduced to each result. */
  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly emitter: ExprEmitter,
    private readonly size: Size,
  ) {}

  /** Declares the state. */
  start(accumulator: Accumulator): void {
    const { emitter } = this;
    const { names } = emitter.builder;
    const { name, reduction, ids, narrow } = accumulator;
    const width = narrow === true ? 2 : emitter.context.width;
    const site: ReductionSite = {
      width,
      helper: (helper, of) => emitter.helper(helper, of),
      fresh: () => names.fresh('u'),
    };
    const state = new PartialResult(reduction, ids, site, names, emitter.block);
    this.progress.set(name, { accumulator, state, site, parts: [] });
  }

  /** Takes in a value; where `valid` is false (if given) nothing changes. */
  update(name: string, block: CodeBlock, x: Value, at: Value, valid: string | null): void {
    const { state, site } = this.of(name);
    const parts = site.width < x.width ? ['.xy', '.zw'] : [''];
    for (const part of parts) {
      const text = `${x.text}${part}`;
      state.update(block, { ...x, text, width: site.width }, at, valid);
    }
  }

  settle(name: string, block: CodeBlock): void {
    this.of(name).state.settle(block);
  }

  part(name: string): void {
    const { state } = this.of(name);
    this.advance(name, { parts: state.handOver() });
  }

  /** Merges the values of the parts into one each. */
  fold(name: string): void {
    const { site, parts, accumulator } = this.of(name);
    const { block, builder } = this.emitter;
    const alone: ReductionSite = { ...site, width: 1 };
    const folded = parts.map((part): Value => {
      const text = builder.names.fresh(`${part.text}_`);
      block.line(`var ${text} = ${part.text}.x;`);
      return { ...part, text, width: 1 };
    });
    for (const lane of 'yzw'.slice(0, site.width - 1)) {
      const others = parts.map((part): Value => ({
        ...part,
        text: `${part.text}.${lane}`,
        width: 1,
      }));
      mergeParts(block, accumulator.reduction, folded, others, alone);
    }
    this.advance(name, { parts: folded, site: alone });
  }

  /** Writes the parts to their arrays at a place. */
  share(name: string, block: CodeBlock, arrays: readonly string[], place: string): void {
    this.of(name).parts.forEach((part, j) =>
      block.line(`${this.array(arrays[j]!, part)}[${place}] = ${carried(part)};`),
    );
  }

  /** Reads the parts from their arrays. */
  fetch(name: string, block: CodeBlock, arrays: readonly string[], place: string): void {
    this.of(name).parts.forEach((part, j) =>
      block.line(`${part.text} = ${restored(`${this.array(arrays[j]!, part)}[${place}]`, part)};`),
    );
  }

  /** Merges what lies in the arrays at a place. */
  merge(name: string, block: CodeBlock, arrays: readonly string[], place: string): void {
    this.mergeFrom(name, block, (part, j) => `${this.array(arrays[j]!, part)}[${place}]`);
  }

  /** Merges the parts of the thread whose number in the subgroup differs by `mask`. */
  exchange(name: string, block: CodeBlock, mask: string): void {
    this.emitter.builder.requireSubgroups();
    this.mergeFrom(name, block, (part) => `subgroupShuffleXor(${carried(part)}, ${mask})`);
  }

  /** Adds the parts of a subgroup, by the machine's own operation, if parts are merged by adding; whether they are. */
  addUp(name: string, block: CodeBlock): boolean {
    const { accumulator, parts } = this.of(name);
    if (!mergesByAdding(accumulator.reduction)) return false;
    this.emitter.builder.requireSubgroups();
    for (const { text } of parts) block.line(`${text} = subgroupAdd(${text});`);
    return true;
  }

  /** Makes results known, under names of their own. */
  finish(names: readonly string[]): void {
    const { emitter } = this;
    const results = names.flatMap((name) => {
      const { accumulator, parts, site } = this.of(name);
      const { reduction, ids } = accumulator;
      const count = (dtype: DType): Value => this.count(dtype, site);
      const values = resultsOf(emitter.block, reduction, parts, count, site);
      return ids.map((id, i) => ({ id, value: values[i]! }));
    });
    for (const { id, value } of results) {
      const text = emitter.builder.names.claim(`acc${id}`);
      emitter.block.line(`let ${text} = ${value.text};`);
      emitter.setAcc(id, { ...value, text, atom: true });
    }
  }

  private of(name: string): Progress {
    return this.progress.get(name)!;
  }

  private advance(name: string, change: Partial<Progress>): void {
    this.progress.set(name, { ...this.of(name), ...change });
  }

  private mergeFrom(
    name: string,
    block: CodeBlock,
    textOf: (part: Value, j: number) => string,
  ): void {
    const { accumulator, parts, site } = this.of(name);
    const others = parts.map((part, j) =>
      named(
        block,
        { ...part, text: restored(textOf(part, j), part) },
        { ...site, fresh: this.fresh },
      ),
    );
    mergeParts(block, accumulator.reduction, parts, others, site);
  }

  /** The variable of a shared array, declared when a part is first written to it. */
  private array(name: string, { type, width }: Value): string {
    let found = this.arrays.get(name);
    if (found === undefined) {
      const { builder } = this.emitter;
      const { length } = this.scheduled.shared.find((each) => each.name === name)!;
      const [prefix] = name.split('.');
      found = builder.workgroupArray(prefix, typeName(carrier(type), width), length);
      this.arrays.set(name, found);
    }
    return found;
  }

  /** Number of values that are reduced to each result. */
  private count(dtype: DType, site: ReductionSite): Value {
    const { size } = this;
    if (typeof size === 'number') return constantValue(size, dtype, site);
    const type = computeType(dtype);
    const text = `${typeName(type, 1)}(${this.emitter.builder.size(size)})`;
    return { text, type, width: 1, atom: true };
  }
}

/** Whether each register of two parts together is the sum of theirs. */
function mergesByAdding({ part, merge }: Reduction): boolean {
  return part.every(({ name, dtype }, i) => {
    const terms = dtype === 'bool' ? null : operandsOf(merge[i], 'add');
    const names = terms?.map((term) => (term.kind === 'scalar' ? term.name : null));
    return names?.[0] === name && names[1] === `other.${name}`;
  });
}

/** Type in which values go from thread to thread: neither workgroup memory nor subgroups carry bool. */
function carrier(type: ScalarType): Exclude<ScalarType, 'bool'> {
  return type === 'bool' ? 'u32' : type;
}

function carried({ text, type, width }: Value): string {
  return type === 'bool' ? `${typeName('u32', width)}(${text})` : text;
}

/** What was carried, in the type that it had. */
function restored(text: string, { type, width }: Value): string {
  return type === 'bool' ? `${text} != ${typeName('u32', width)}(0u)` : text;
}
