/**
 * @file `Specializer`: what a replay does differently when the trace has symbols.
 *
 * For sizes that were met before, the metadata of every result and the compiled code hang on the frame's
 * `ShapeBinding`, and a matched op costs one look-up more. For new sizes the matched steps are rebuilt, as they are
 * matched, on fake tensors of the present sizes: the operators' own shape rules give the results' metadata, so
 * nothing is extrapolated, and the rebuilt graph is compiled for these sizes. The function is not traced again: its
 * steps are. Sizes that come too seldom to be worth code are declined: such a call runs eagerly.
 */
import { log } from '@tessera/shared';
import { traceConfig } from '../config.js';
import type { SoFar } from '../dynamic/case-numbers.js';
import { caseOf } from '../dynamic/known-results.js';
import { remaindersOf } from '../dynamic/remainders.js';
import { mayDiffer } from '../dynamic/step-rule.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import type { Made, ProvenCode, ShapeBinding } from '../dynamic/shape-binding.js';
import type { Frame } from '../frame/frame.js';
import type { Segment } from '../trace/segment.js';
import type { BackwardStep, MakingStep, OpStep, OutSpec, Step } from '../trace/step.js';
import type { Cursor } from './cursor.js';
import { rebuildEntry, rebuildStep } from './rebuild-step.js';
import type { Recorder } from './recorder.js';

type Outs = readonly (OutSpec | null)[];

/** See the file header. One per call. */
export class Specializer {
  /** Rebuilds the current segment; null while everything is known. */
  private recorder: Recorder | null = null;
  private readonly frame: Frame;
  private readonly table: SymbolTable;
  /** What the steps so far have decided. */
  private behind: SoFar = { number: 0, left: [] };
  /** `point`, and what it is made of. */
  private joined: readonly number[] = [];
  private joinedOf: readonly (readonly number[])[] = [];

  constructor(private readonly cursor: Cursor) {
    this.frame = cursor.frame;
    this.table = cursor.host.table;
  }

  /** A new segment begins. */
  reset(): void {
    this.recorder = null;
    this.frame.spares.clear();
  }

  /** Whether a matched step has sizes that are not worth code. */
  declines(step: OpStep | BackwardStep): boolean {
    const { shapes } = this.frame;
    if (shapes.made.has(step) || this.recorder !== null) return false;
    if (this.table.bindings.admits(shapes, traceConfig.sizeLimit)) return false;
    this.cursor.host.onDecline();
    return true;
  }

  /** Makes the results of a matched step that is not yet in the path. */
  produce(step: OpStep | BackwardStep): Outs {
    const { frame } = this;
    let outs = this.recorder === null ? this.known(step) : null;
    if (outs === null) {
      this.recorder ??= this.cursor.host.rebuild(this.cursor);
      outs = rebuildStep(this.recorder, step);
      this.note(step, outs);
    }
    if (step.kind === 'op')
      for (let i = step.outs.length; i < outs.length; i++) frame.spares.add(outs[i]!.slot);
    return outs;
  }

  /** Notes what a step makes at the present sizes. */
  note(step: MakingStep, outs: Outs, shapes: ShapeBinding = this.frame.shapes): void {
    if (shapes.parent === null) return;
    const { number } = this.behind;
    const { sizes, left } = this.sizesOf(step);
    const of = this.learns ? this.table.results.note(step, outs, this.frame, number, sizes) : null;
    shapes.made.set(step, this.passed(step, { outs, of }, left));
  }

  /** What a step makes at the present sizes, if they were met before, or those that were tell; else null. */
  known(step: MakingStep): Outs | null {
    const { shapes } = this.frame;
    const met = shapes.made.get(step);
    if (met !== undefined) {
      this.behind = met.behind;
      return met.outs;
    }
    if (!this.learns || this.recorder !== null) return null;
    const { sizes, left } = this.sizesOf(step);
    const known = this.table.results.at(step, this.frame, this.behind.number, sizes);
    if (known !== null) shapes.made.set(step, this.passed(step, known, left));
    return known?.outs ?? null;
  }

  /** What a step made, which leaves so much: it is behind us. */
  private passed(step: MakingStep, made: Omit<Made, 'behind'>, left: readonly number[]): Made {
    const { number, left: before } = this.behind;
    const isNumbered = mayDiffer(step);
    if (isNumbered || left.length > 0)
      this.behind = {
        number: isNumbered ? this.table.cases.behind(number, made.of) : number,
        left: left.length === 0 ? before : [...before, ...left],
      };
    return { ...made, behind: this.behind };
  }

  /** Whether results and code are taken from other sizes. A call that is remembered keeps code of its own. */
  private get learns(): boolean {
    return !this.cursor.isRemembered;
  }

  /** What the divisions of a step leave, and the sizes of which it makes others: with all that is left. */
  private sizesOf(step: MakingStep): {
    readonly left: readonly number[];
    readonly sizes: readonly number[];
  } {
    const { point } = this;
    const left = remaindersOf(step, this.frame);
    return { left, sizes: left.length === 0 ? point : [...point, ...left] };
  }

  /** The cases in which the steps of the current segment are; null if nothing is known of one of them. */
  get cases(): string | null {
    if (!this.learns) return null;
    const { matched } = this.cursor;
    const inside = new Set<Step>();
    const { number } = this.behind;
    if (number < 0) return null;
    let cases = `${number}`;
    for (const step of matched) {
      if (inside.has(step)) continue;
      const isRegion = step.kind === 'region';
      const made = isRegion ? null : this.frame.shapes.find(step);
      const of = isRegion ? caseOf(step, [], this.frame) : made === null ? '' : made.of;
      if (of !== null) cases += `|${of}`;
      // Those inside are looked at where the region as a whole has no case.
      else if (!isRegion) return null;
      if (isRegion && of !== null) for (const inner of step.jump!.steps) inside.add(inner);
    }
    return cases;
  }

  /**
   * The sizes of which the graph of the current segment is a sample: those of the call, and what was left of them; the
   * same list while they are.
   */
  get point(): readonly number[] {
    const { left } = this.behind;
    const values = this.frame.symbolValues();
    if (left.length === 0) return values;
    if (this.joinedOf[0] !== values || this.joinedOf[1] !== left) {
      this.joinedOf = [values, left];
      this.joined = [...values, ...left];
    }
    return this.joined;
  }

  /** Whether results are being made by rebuilding, which binds them. */
  get rebuilding(): boolean {
    return this.recorder !== null;
  }

  /** Follows what was matched without making results: a step, or those of a region that was jumped over. */
  follow(entry: Step | readonly Step[]): void {
    if (this.recorder !== null) rebuildEntry(this.recorder, entry);
  }

  /** Runs the code of a segment for the sizes of this call. */
  run(template: Segment): void {
    const { frame } = this;
    const { shapes } = frame;
    let segment = shapes.segments.get(template);
    const isMade = segment?.fits(frame) === true;
    const proven = isMade ? null : this.proven(template);
    if (!isMade && proven === null)
      shapes.segments.set(template, (segment = this.recorded(template)));
    this.table.bindings.touch(shapes, traceConfig.sizeLimit);
    frame.runSegment(proven?.like ?? segment!, proven?.code);
  }

  /** The code that is known to be that of these sizes; null where their graph is needed to run the segment. */
  private proven(template: Segment): ProvenCode | null {
    if (this.recorder !== null || !this.learns) return null;
    const { frame } = this;
    const { proven } = frame.shapes;
    let found = proven.get(template);
    if (found?.outputs !== found?.like.outputs || found?.asked !== template.outputs) {
      const like = template.knowing(this.cases);
      const code = like?.codeFor(frame, this.point) ?? null;
      if (code === null) return null;
      found = { like: like!, code, outputs: like!.outputs, asked: template.outputs };
      proven.set(template, found);
    }
    const { like } = found!;
    return like.fits(frame) && !like.changesHooked(like.gather(frame)) ? found! : null;
  }

  private recorded(template: Segment): Segment {
    const { cursor } = this;
    log('perf', () => `Specializing ${cursor.host.name} for ${this.sizes.join(', ')}`);
    const segment = (this.recorder ?? cursor.host.rebuild(cursor)).finishSegment();
    segment.onShared = () => (this.table.bindings.sharesCode = true);
    segment.cases = this.cases;
    segment.point = this.point;
    template.addSpecialization(this.sizes, segment);
    return segment;
  }

  private get sizes(): string[] {
    return this.frame.shapes.values.map(([index, value]) => {
      const entry = this.table.entries[index]!;
      return `${entry.symbol.name} = ${value} (${entry.source})`;
    });
  }
}
