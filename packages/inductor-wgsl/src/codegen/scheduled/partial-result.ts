/**
 * @file `PartialResult`: the state of a reduction in variables of one thread.
 *
 * What the state is and what happens to it says the `Reduction`; here are only variables, of one value or of four.
 */
import type { Assignments, Reduction, Register } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { CodeBlock } from '../code-block.js';
import type { NameScope } from '../names.js';
import {
  assignAll,
  constantValue,
  named,
  reductionValues,
  type Operand,
  type ReductionSite,
} from '../values/reduction-values.js';
import { widen, type Value } from '../values/value.js';
import { computeType, typeName } from '../values/wgsl-types.js';

/** See the file header. */
export class PartialResult {
  private readonly variables = new Map<string, Value>();

  /** Declares the state in `block`. */
  constructor(
    readonly reduction: Reduction,
    /** Results that it gives. */
    readonly ids: readonly number[],
    readonly site: ReductionSite,
    private readonly names: NameScope,
    private readonly block: CodeBlock,
  ) {
    for (const register of reduction.state) this.declare(register);
  }

  private declare({ name, dtype, identity }: Register): Value {
    const { site, block } = this;
    const { width } = site;
    const type = computeType(dtype);
    const variable: Value = { text: this.names.fresh(name), type, width, atom: true };
    const initial = constantValue(identity, dtype, site).text;
    block.line(`var ${variable.text} = ${typeName(type, width)}(${initial});`);
    this.variables.set(name, variable);
    return variable;
  }

  /** Takes in value `x` found at `at`; where `valid` is false (if given) nothing changes. */
  update(block: CodeBlock, x: Value, at: Value, valid: string | null): void {
    const { reduction, site } = this;
    const { neutral, dtype, update } = reduction;
    const isPadded = valid !== null && neutral !== undefined;
    const kept = valid !== null && !isPadded ? this.keep(block) : [];
    const taken = isPadded ? this.padded(block, x, constantValue(neutral, dtype, site), valid) : x;
    const operand: Operand = (name) =>
      name === 'x' ? taken : name === 'at' ? at : this.variables.get(name)!;
    // What a step's condition excludes it does not change: threads have nothing to gain from a branch.
    for (const { set } of update) this.assign(block, set, operand);
    for (const { variable, before } of kept)
      block.line(`${variable.text} = select(${before.text}, ${variable.text}, ${valid});`);
  }

  private keep(block: CodeBlock): { readonly variable: Value; readonly before: Value }[] {
    return [...this.variables.values()].map((variable) => ({
      variable,
      before: named(block, variable, this.site),
    }));
  }

  private padded(block: CodeBlock, x: Value, nothing: Value, valid: string): Value {
    const { width } = this.site;
    const text = `select(${widen(nothing, width)}, ${widen(x, width)}, ${valid})`;
    return named(block, { ...x, text, width }, this.site);
  }

  /** Moves what would lose precision as it grows. */
  settle(block: CodeBlock): void {
    const { settling } = this.reduction;
    if (settling !== undefined)
      this.assign(block, settling.set, (name) => this.variables.get(name)!);
  }

  private assign(block: CodeBlock, set: Assignments, operand: Operand): void {
    const { site, variables } = this;
    const values = reductionValues(
      block,
      set.map(([, value]) => value),
      operand,
      site,
    );
    assignAll(
      block,
      set.map(([name]) => variables.get(name)!),
      values,
      site,
    );
  }

  /** Variables that hold what this thread hands over to be merged. */
  handOver(): Value[] {
    const { reduction, block, site } = this;
    const operand: Operand = (name) => this.variables.get(name)!;
    const values = reductionValues(block, reduction.handOver, operand, site);
    const parts = reduction.part.map(
      (register) => this.variables.get(register.name) ?? this.declare(register),
    );
    assignAll(block, parts, values, site);
    return parts;
  }
}

/** Merges the part in `b` into the variables `a`. */
export function mergeParts(
  block: CodeBlock,
  { part, merge }: Reduction,
  a: readonly Value[],
  b: readonly Value[],
  site: ReductionSite,
): void {
  const operands = new Map<string, Value>();
  part.forEach(({ name }, i) => operands.set(name, a[i]!).set(`other.${name}`, b[i]!));
  const values = reductionValues(block, merge, (name) => operands.get(name)!, site);
  assignAll(block, a, values, site);
}

/** The results of a whole of so many values, by dtype. */
export function resultsOf(
  block: CodeBlock,
  { part, finish, dtype }: Reduction,
  whole: readonly Value[],
  size: (dtype: DType) => Value,
  site: ReductionSite,
): Value[] {
  const operand: Operand = (name) =>
    name === 'size' ? size(dtype) : whole[part.findIndex((register) => register.name === name)]!;
  return reductionValues(block, finish, operand, site);
}
