/**
 * @file `Specializer`: what a replay does differently when the trace has symbols.
 *
 * For sizes that were met before, the metadata of every result and the compiled code hang on the frame's
 * `ShapeBinding`, and a matched op costs one look-up more. For new sizes the matched steps are rebuilt, as they are
 * matched, on fake tensors of the present sizes: the operators' own shape rules give the results' metadata, so
 * nothing is extrapolated, and the rebuilt graph is compiled for these sizes. The function is not traced again: its
 * steps are. Sizes that come too seldom to be worth code are declined: such a call runs eagerly.
 */
import { log, now } from '@tessera/shared';
import { gradMode } from '@tessera/tensor/internal';
import { traceConfig } from '../config.js';
import { type KnownPlace, type Made, type SoFar, behindStep } from '../dynamic/known-place.js';
import { type Arguments, caseOfStep, remaindersOf } from '../dynamic/step-rule.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import type { ShapeBinding, SizedCode } from '../dynamic/shape-binding.js';
import type { Frame } from '../frame/frame.js';
import type { Segment } from '../trace/segment.js';
import type { MakingStep, OpStep, OutSpec, Step } from '../trace/step.js';
import type { Cursor } from './cursor.js';
import { type Rebuilt, rebuildEntry, rebuildStep } from './rebuild-step.js';
import type { Recorder } from './recorder.js';

type Outs = readonly (OutSpec | null)[];

/** See the file header. One per call. */
export class Specializer {
  /** Rebuilds the current segment; null while everything is known. */
  private recorder: Recorder | null = null;
  private frame: Frame;
  private readonly table: SymbolTable;
  /** What is known behind the steps so far. */
  behind: SoFar;
  /** `point`, and what it is made of. */
  private joined: readonly number[] = [];
  private joinedOf: readonly (readonly number[])[] = [];

  constructor(private readonly cursor: Cursor) {
    this.frame = cursor.frame;
    this.table = cursor.host.table;
    this.behind = this.table.start.plain;
  }

  /** A new segment begins. */
  reset(): void {
    this.frame = this.cursor.frame;
    this.recorder = null;
    this.behind = this.table.start.plain;
  }

  /** The matched steps of the current segment at the present sizes. */
  rebuilt(): Segment {
    return (this.recorder ?? this.cursor.host.rebuild(this.cursor)).finishSegment();
  }

  /** Whether a matched step has sizes that are not worth code. */
  declines(step: OpStep, args: Arguments): boolean {
    const { shapes } = this.frame;
    const { bindings } = this.table;
    if (this.recorder !== null || shapes.made?.has(step) === true) return false;
    if (bindings.sharesCode && (!this.cursor.entry.isCostly || this.known(step, args) !== null))
      return false;
    if (bindings.admits(shapes, traceConfig.sizeLimit)) return false;
    this.cursor.host.onDecline();
    return true;
  }

  /** Makes the results of a matched step that is not yet in the path. */
  produce(step: OpStep, args: Arguments): Outs {
    const { frame } = this;
    const recorded = step.gaining;
    // Which of more or fewer values take gradients from now on, the operator says and not the step.
    const isTold = recorded.every((slot) => !frame.spares.size && frame.slots[slot]);
    const gaining = frame.shapes.made?.get(step)?.gaining ?? (isTold ? recorded : null);
    let outs = this.recorder === null ? gaining && this.known(step, args) : null;
    if (outs === null) {
      this.recorder ??= this.cursor.host.rebuild(this.cursor);
      const made = rebuildStep(this.recorder, step);
      outs = made.outs;
      this.note(step, args, made);
    } else if (gaining!.length > 0) frame.noteGradients(gaining!);
    for (const [i, spec] of outs.entries())
      if (spec !== null && !spec.same && step.outs[i]?.slot !== spec.slot)
        frame.spares.add(spec.slot);
    return outs;
  }

  /**
   * Notes what a step makes at the present sizes.
   *
   * @param before what was known before it: of a region, before the steps inside
   */
  note(
    step: MakingStep,
    args: Arguments,
    { outs, gaining }: Rebuilt,
    shapes: ShapeBinding = this.frame.shapes,
    before: SoFar = this.behind,
  ): void {
    if (shapes.parent === null || isStatic(step)) return;
    const { frame } = this;
    const left = remaindersOf(step, args, frame);
    // A call that is remembered keeps results and code of its own.
    const place = this.cursor.isRemembered ? null : before.place;
    // With all that is left of them, the sizes of which it makes others.
    const sizes = left.length === 0 ? this.point : [...this.point, ...left];
    const behind = place?.note(step, args, outs, frame, sizes) ?? null;
    if (behind !== null) this.behind = behindStep(before, behind, left);
    // Of a region of which nothing is known as a whole, the steps inside say what is behind it.
    else if (step.kind !== 'region') this.behind = unknownBehind(before, step, left);
    (shapes.made ??= new Map<Step, Made>()).set(step, { outs, behind: this.behind, gaining });
  }

  /** What a step makes at the present sizes, if they were met before, or those that were tell; else null. */
  known(step: MakingStep, args: Arguments): Outs | null {
    const { frame, behind } = this;
    const { shapes } = frame;
    const met = shapes.made?.get(step);
    if (met !== undefined) {
      this.behind = met.behind;
      return met.outs;
    }
    if (behind.place === null || this.recorder !== null || this.cursor.isRemembered) return null;
    const point = behind.left.length === 0 ? shapes.point : this.point;
    const found = behind.place.at(step, args, frame, point, behind);
    if (found === null) return null;
    this.behind = found.behind;
    (shapes.made ??= new Map<Step, Made>()).set(step, found);
    return found.outs;
  }

  /** What is known behind the steps of the current segment, and so their cases; null if nothing is known of one of them. */
  get cases(): KnownPlace | null {
    const { place, isKnown } = this.behind;
    return isKnown && !this.cursor.isRemembered ? place : null;
  }

  /**
   * The sizes of which the graph of the current segment is a sample: those of the call, and what was left of them; the
   * same list while they are.
   */
  get point(): readonly number[] {
    const { left } = this.behind;
    const { point } = this.frame.shapes;
    if (left.length === 0) return point;
    if (this.joinedOf[0] !== point || this.joinedOf[1] !== left) {
      this.joinedOf = [point, left];
      this.joined = [...point, ...left];
    }
    return this.joined;
  }

  /** Whether results are being made by rebuilding, which binds them. */
  get rebuilding(): boolean {
    return this.recorder !== null;
  }

  /** Follows what was matched without making results: a step, or those of a region that was jumped over. */
  follow(entry: Step | readonly Step[]): void {
    if (this.recorder === null) return;
    rebuildEntry(this.recorder, entry);
    gradMode.enabled = this.frame.gradMode;
  }

  /** Runs the code of a segment for the sizes of this call. */
  run(template: Segment): void {
    const { frame, table } = this;
    const { shapes } = frame;
    let code = shapes.codes?.get(template);
    if (code === undefined || !this.serves(code)) {
      code = this.proven(template) ?? this.recorded(template);
      (shapes.codes ??= new Map<Segment, SizedCode>()).set(template, code);
    }
    table.bindings.touch(shapes, traceConfig.sizeLimit);
    const { segment, proven } = code;
    const start = segment.runs === 0 ? now() : 0;
    frame.runSegment(segment, proven);
    if (segment.runs !== 1 || proven !== null) return;
    const { entry } = this.cursor;
    entry.addGraph(2 * segment.compileMs - (now() - start));
  }

  /** Whether code for these sizes may run. */
  private serves({ segment, proven, outputs }: SizedCode): boolean {
    if (proven === null) return segment.fits(this.frame);
    if (this.recorder !== null || this.cursor.isRemembered) return false;
    return outputs === segment.outputs && segment.serves(this.frame);
  }

  /** The code that is known to be that of these sizes; null where their graph is needed to run the segment. */
  private proven(template: Segment): SizedCode | null {
    const { behind, frame } = this;
    const { place, isKnown, left } = behind;
    if (this.recorder !== null || place === null || !isKnown || this.cursor.isRemembered)
      return null;
    const point = left.length === 0 ? frame.shapes.point : this.point;
    const code = template.knownCode(frame.slots, place, point);
    return code !== null && code.segment.serves(frame) ? code : null;
  }

  private recorded(template: Segment): SizedCode {
    const { cursor } = this;
    log('perf', () => `Specializing ${cursor.host.name} for ${this.sizes.join(', ')}`);
    const segment = this.rebuilt();
    segment.told = this.table.bindings;
    // What is told of operators is kept, though not all sizes are.
    segment.report = { ...segment.report, perSize: template.report.perSize };
    segment.cases = this.cases;
    segment.point = this.point;
    template.addSpecialization(this.sizes, segment);
    return { segment, proven: null, outputs: segment.outputs };
  }

  private get sizes(): string[] {
    const { point } = this.frame.shapes;
    return point.flatMap((index, i) => {
      const entry = this.table.entries[index]!;
      return i % 2 > 0 ? [] : `${entry.symbol.name} = ${point[i + 1]!} (${entry.source})`;
    });
  }
}

/** Whether a step makes the same at all sizes, whatever is known of it. */
function isStatic(step: MakingStep): boolean {
  return step.kind === 'op'
    ? step.isStatic
    : step.kind === 'region' && step.jump?.isStatic === true;
}

/** What is known behind a step of which nothing is: its results may have come of other cases. */
function unknownBehind(before: SoFar, step: MakingStep, left: readonly number[]): SoFar {
  const { place, left: earlier } = before;
  return {
    place: caseOfStep(step) === null ? place : null,
    left: [...earlier, ...left],
    isKnown: false,
  };
}
