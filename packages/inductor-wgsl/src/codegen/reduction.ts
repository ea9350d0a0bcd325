/**
 * @file Kernels with inner stages: reductions, alone or followed by stages that use their results
 * (softmax, layer norm), in one dispatch.
 *
 * All threads hold every finished result, so an inner stage after a reduction starts without further
 * communication; what it reads again comes from cache, or from registers when the schedule unrolls.
 */
import {
  inTwoPasses,
  isMultiple,
  mustSettle,
  reductionOf,
  stmtRoots,
  type LoopKernel,
  type ReduceStmt,
  type Stage,
} from '@tessera/inductor-core';
import { type Size, sizeCeilDiv, sizeFloorDiv, sizeMod, sizeSub } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { gridOf } from './dispatch.js';
import { ExprEmitter } from './expr-emitter.js';
import type { SymbolText } from './index-emitter.js';
import { LaneContext } from './lane-context.js';
import { nestedLoops, stridedSymbols, type InnerLoops } from './inner-loops.js';
import { settledLoops, stepsOf, type Loop } from './loop-blocks.js';
import { decompose, extent, fastest, moves } from './loop-vars.js';
import { ProgramBuilder, type WgslProgram } from './program.js';
import { PartialResult } from './partial-result.js';
import { chooseReductionSchedule, type ReductionSchedule } from './reduction-schedule.js';
import { emitStore, type StoreSink } from './store-emitter.js';
import { SCHEDULE_TARGET, type WgslTarget } from './target.js';
import type { Value } from './value.js';
import { widen } from './value.js';
import type { KernelVariant } from './variant.js';
import { chooseVectorBuffers } from './vector-buffers.js';
import { WorkgroupReducer } from './workgroup-reducer.js';
import { typeName, type Width } from './wgsl-types.js';

/** Generates a kernel that has inner stages. */
export function generateReduction(
  kernel: LoopKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  schedule: ReductionSchedule = chooseReductionSchedule(kernel, target),
): WgslProgram {
  // Values in registers cost nothing to read again, and each exponential is computed once.
  const isSplit = ({ op }: ReduceStmt): boolean => op === 'online_softmax';
  const prepared = schedule.steps > 0 ? inTwoPasses(kernel, isSplit) : kernel;
  return new ReductionGenerator(prepared, target, variant, schedule).generate();
}

/** A step of the unrolled inner loop. */
interface Step {
  readonly symbols: ReadonlyMap<string, SymbolText>;
  /** Text of the position in the inner loop (in units of lanes). */
  readonly position: string;
  readonly valid: string | null;
}

/** How a step takes in its values. */
interface Accumulation {
  readonly updates?: CodeBlock;
  /** Text of the lanes that hold a value; all do where there is none. */
  readonly valid?: string | null;
}

class ReductionGenerator {
  private readonly body = new CodeBlock();
  private readonly builder: ProgramBuilder;
  private readonly emitter: ExprEmitter;
  private readonly reducer: WorkgroupReducer;
  private readonly context: LaneContext;
  /** Length of the inner loop and number of outer points, in units of lanes. */
  private readonly innerUnits: Size;
  private readonly outerUnits: Size;
  private readonly innerLane: string | undefined;
  private active: string | null = null;

  constructor(
    private readonly kernel: LoopKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly schedule: ReductionSchedule,
  ) {
    const stmts = kernel.stages.flatMap((stage) => stage.body);
    const roots = stmts.flatMap(stmtRoots);
    const { lanes } = schedule;
    const lane =
      lanes === 'none' ? undefined : fastest(lanes === 'outer' ? kernel.outer : kernel.inner)!.name;
    this.innerLane = lanes === 'inner' ? lane : undefined;
    const step = lanes === 'strided' ? schedule.innerThreads : 1;
    this.context = new LaneContext(
      lane === undefined ? {} : { lane, step, vectorAccs: lanes === 'outer' },
      roots,
    );
    const scalar = new LaneContext({}, []);
    const groups = kernel.stages.map((stage) => ({
      context: lanes === 'outer' || stage.kind === 'inner' ? this.context : scalar,
      exprs: [],
      stores: stage.body,
    }));
    this.builder = new ProgramBuilder(
      kernel,
      target,
      variant,
      variant.offsets ? new Set() : chooseVectorBuffers(groups),
    );
    this.emitter = new ExprEmitter(
      this.builder,
      this.context,
      roots,
      new Set(kernel.inner.map((v) => v.name)),
    );
    this.innerUnits = sizeFloorDiv(extent(kernel.inner), lanes === 'inner' ? 4 : 1);
    this.outerUnits = sizeFloorDiv(extent(kernel.outer), lanes === 'outer' ? 4 : 1);
    this.reducer = new WorkgroupReducer(this.builder, this.body, schedule, extent(kernel.inner));
  }

  generate(): WgslProgram {
    const { body, schedule, builder, kernel } = this;
    const threads = schedule.outerThreads * schedule.innerThreads;
    if (this.outerUnits === 0) return builder.finish(1, body, [0, 1]);
    const { outerThreads } = schedule;
    const grid = gridOf(this.outerUnits, outerThreads, builder.target);
    if (grid.hasSurplus) {
      const count = builder.size(sizeCeilDiv(this.outerUnits, outerThreads));
      body.line(`if (${grid.id} >= ${count}) { return; }`);
    }
    this.placeThread(grid.id);
    const outerLane = schedule.lanes === 'outer' ? { lane: fastest(kernel.outer)!.name } : {};
    const point =
      this.active === null ? 'point' : `min(point, ${builder.size(sizeSub(this.outerUnits, 1))})`;
    this.emitter.enter(body, decompose(body, builder, kernel.outer, point, outerLane));
    const steps = schedule.steps > 0 ? this.unroll() : null;
    for (const stage of kernel.stages) {
      if (stage.kind === 'outer') this.outerStage(stage);
      else if (steps !== null) this.unrolledStage(stage, steps);
      else if (schedule.lanes === 'strided') this.stridedStage(stage);
      else this.loopStage(stage);
    }
    return builder.finish(threads, body, grid.workgroups, this.reducer.builtins);
  }

  /** Declares `point`, the outer point of this thread, and its place `part` among those that share it. */
  private placeThread(group: string): void {
    const { body, schedule } = this;
    const { outerThreads, innerThreads, fast } = schedule;
    if (innerThreads === 1) {
      body.line(`let point = ${group} * ${outerThreads}u + lane;`);
    } else if (outerThreads === 1) {
      body.line(`let point = ${group};`);
      body.line('let part = lane;');
    } else if (fast === 'inner') {
      body.line(`let point = ${group} * ${outerThreads}u + lane / ${innerThreads}u;`);
      body.line(`let part = lane % ${innerThreads}u;`);
    } else {
      body.line(`let point = ${group} * ${outerThreads}u + lane % ${outerThreads}u;`);
      body.line(`let part = lane / ${outerThreads}u;`);
    }
    if (isMultiple(this.outerUnits, outerThreads)) return;
    this.active = 'inside';
    body.line(`let ${this.active} = point < ${this.builder.size(this.outerUnits)};`);
  }

  private get part(): string {
    return this.schedule.innerThreads === 1 ? '0u' : 'part';
  }

  /** Runs once per outer point: by the first of the threads that share it. */
  private outerStage(stage: Stage): void {
    const writes = new CodeBlock();
    for (const stmt of stage.body)
      if (stmt.kind === 'store') emitStore(this.emitter, stmt, { full: writes });
    this.guarded(writes, this.schedule.innerThreads === 1 ? null : 'part == 0u');
  }

  private guarded(writes: CodeBlock, condition: string | null): void {
    const tests = [this.active, condition].filter((test) => test !== null);
    if (tests.length === 0) this.body.append(writes);
    else this.body.nest(`if (${tests.join(' && ')})`, writes);
  }

  private loopStage(stage: Stage): void {
    const { schedule, kernel, builder } = this;
    const content = new CodeBlock();
    const isNested = schedule.innerThreads === 1 && kernel.inner.filter(moves).length > 1;
    const { loops, position, symbols } = isNested
      ? nestedLoops(kernel.inner, this.innerLane, builder)
      : this.flatLoop(content);
    const partials = this.declarePartials(stage, stepsOf(loops));
    this.emitter.enter(content, symbols);
    this.accumulate(stage, partials, this.positions(position), { full: content });
    this.emitter.leave();
    const whole = settledLoops(loops, content, partials, builder.names);
    if (isNested && this.active !== null) this.body.nest(`if (${this.active})`, whole);
    else this.body.append(whole);
    this.finish(partials);
  }

  /** One loop over the place in the inner loops, which is taken apart in `content`. */
  private flatLoop(content: CodeBlock): InnerLoops {
    const { builder, kernel, schedule } = this;
    const at = builder.names.fresh('r');
    const loop = this.sweep(at, this.innerUnits, schedule.innerThreads);
    const symbols = decompose(content, builder, kernel.inner, at, this.laneOption());
    return { loops: [loop], position: at, symbols };
  }

  /** A loop of this thread over `at`, from `part` on, up to `size` by `step`. */
  private sweep(at: string, size: Size, step: number): Loop {
    const end = this.builder.size(size);
    const limit = this.active === null ? end : `select(0u, ${end}, ${this.active})`;
    return { name: at, begin: this.part, limit, step, trips: sizeCeilDiv(size, step) };
  }

  /** Lanes that are `innerThreads` elements apart: full rounds, then one in which some lanes are past the end. */
  private stridedStage(stage: Stage): void {
    const { schedule, kernel, builder } = this;
    const step = schedule.innerThreads;
    const { size } = fastest(kernel.inner)!;
    const whole = sizeSub(size, sizeMod(size, 4 * step));
    const at = builder.names.fresh('r');
    const loop = this.sweep(at, whole, 4 * step);
    const partials = this.declarePartials(stage, stepsOf([loop]));
    const content = new CodeBlock();
    const symbols = stridedSymbols(kernel.inner, schedule.innerThreads, at);
    this.emitter.enter(content, symbols.all);
    this.accumulate(stage, partials, symbols.lanes, { full: content });
    this.emitter.leave();
    this.body.append(settledLoops([loop], content, partials, builder.names));
    if (whole !== size) this.stridedTail(stage, partials, whole, size);
    this.finish(partials);
  }

  private stridedTail(
    stage: Stage,
    partials: readonly PartialResult[],
    whole: Size,
    size: Size,
  ): void {
    const { builder, body, emitter, schedule, kernel } = this;
    const at = builder.names.fresh('r');
    const valid = builder.names.fresh('valid');
    const tail = new CodeBlock();
    const updates = new CodeBlock();
    const writes = new CodeBlock();
    const symbols = stridedSymbols(kernel.inner, schedule.innerThreads, at);
    const end = builder.size(size);
    tail.line(`let ${at} = ${builder.size(whole)} + ${this.part};`);
    tail.line(`let ${valid} = ${symbols.lanes} < vec4u(${end});`);
    emitter.enter(tail, symbols.all);
    const condition = (j: number): string => `${at} + ${j * schedule.innerThreads}u < ${end}`;
    const sink = { full: new CodeBlock(), partial: { block: writes, condition } };
    this.accumulate(stage, partials, symbols.lanes, sink, { updates, valid });
    emitter.leave();
    for (const partial of partials) partial.settle(updates);
    tail.append(updates);
    tail.append(writes);
    if (this.active === null) body.append(tail);
    else body.nest(`if (${this.active})`, tail);
  }

  private laneOption(): { lane?: string } {
    return this.innerLane === undefined ? {} : { lane: this.innerLane };
  }

  private unroll(): Step[] {
    const { body, builder, schedule, kernel } = this;
    const steps: Step[] = [];
    const units = this.innerUnits as number;
    for (let i = 0; i < schedule.steps; i++) {
      const at = builder.names.fresh('r');
      const first = i * schedule.innerThreads;
      body.line(`let ${at} = ${this.part}${first === 0 ? '' : ` + ${first}u`};`);
      const symbols = decompose(body, builder, kernel.inner, at, this.laneOption());
      const whole = first + schedule.innerThreads <= units;
      steps.push({ symbols, position: at, valid: whole ? null : `${at} < ${units}u` });
    }
    return steps;
  }

  private unrolledStage(stage: Stage, steps: readonly Step[]): void {
    const partials = this.declarePartials(stage, steps.length);
    for (const step of steps) {
      this.emitter.enter(this.body, step.symbols, step);
      const writes = new CodeBlock();
      const updates = new CodeBlock();
      this.accumulate(
        stage,
        partials,
        this.positions(step.position),
        { full: writes },
        { updates },
      );
      if (step.valid === null) this.body.append(updates);
      else this.body.nest(`if (${step.valid})`, updates);
      this.guarded(writes, step.valid);
      this.emitter.leave();
    }
    this.finish(partials);
  }

  /** Declares the state of a stage's reductions, of which this thread makes so many steps. */
  private declarePartials(stage: Stage, steps: number): PartialResult[] {
    const { builder, body, emitter } = this;
    const site = {
      width: this.context.width,
      helper: (name: string, width: Width) => emitter.helper(name, width),
      fresh: () => builder.names.fresh('u'),
    };
    return stage.body.flatMap((stmt) => {
      if (stmt.kind !== 'reduce') return [];
      const { op, ids, value } = stmt;
      const options = { op, dtype: value.dtype, target: SCHEDULE_TARGET };
      const reduction = reductionOf({ ...options, settles: mustSettle(steps) });
      return [new PartialResult(reduction, ids, site, builder.names, body)];
    });
  }

  /** Places in the inner loop of all lanes, given the place of this thread in units of lanes. */
  private positions(unit: string): string {
    if (this.schedule.lanes === 'inner') return `(vec4u(${unit}) * 4u + vec4u(0u, 1u, 2u, 3u))`;
    return this.context.width === 1 ? unit : `vec4u(${unit})`;
  }

  /**
   * Emits the statements of an inner stage for one position on each lane, of which those count that are `valid`;
   * `updates` is where the state changes.
   */
  private accumulate(
    stage: Stage,
    partials: readonly PartialResult[],
    positions: string,
    sink: StoreSink,
    { updates = this.emitter.block, valid = null }: Accumulation = {},
  ): void {
    const { width } = this.context;
    const at: Value = {
      text: `${typeName('i32', width)}(${positions})`,
      type: 'i32',
      width,
      atom: false,
    };
    let next = 0;
    for (const stmt of stage.body) {
      if (stmt.kind === 'store') {
        emitStore(this.emitter, stmt, sink);
        continue;
      }
      const value = this.emitter.value(stmt.value);
      const x = this.emitter.atom({
        ...value,
        text: widen(value, width),
        width,
        atom: value.atom && value.width === width,
      });
      partials[next++].update(updates, x, at, valid);
    }
  }

  private finish(partials: readonly PartialResult[]): void {
    const results = this.reducer.finish(
      partials,
      this.schedule.lanes === 'inner' || this.schedule.lanes === 'strided',
    );
    for (const { id, value } of results) this.emitter.setAcc(id, this.named(id, value));
  }

  private named(id: number, value: Value): Value {
    const name = this.builder.names.claim(`acc${id}`);
    this.body.line(`let ${name} = ${value.text};`);
    return { ...value, text: name, atom: true };
  }
}
