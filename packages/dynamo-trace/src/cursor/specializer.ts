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
import { CasesBefore } from '../dynamic/cases-before.js';
import { caseOf } from '../dynamic/known-results.js';
import { remaindersOf } from '../dynamic/remainders.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import type { ShapeBinding } from '../dynamic/shape-binding.js';
import type { Frame } from '../frame/frame.js';
import type { Segment } from '../trace/segment.js';
import { ProvenSegment } from '../trace/proven-segment.js';
import type { MakingStep, OutSpec, Step } from '../trace/step.js';
import { rebuildEntry, rebuildStep } from './rebuild-step.js';
import type { Recorder } from './recorder.js';

/** Where a call is. */
interface MatchedCall {
  readonly path: readonly (Step | readonly Step[])[];
  /** Steps of the current segment. */
  readonly matched: readonly Step[];
}

/** See the file header. One per replay. */
export class Specializer {
  /** Rebuilds the current segment; null while everything is known. */
  private recorder: Recorder | null = null;
  private readonly before: CasesBefore;

  /**
   * @param rebuild a recorder that has the steps matched so far in the segment
   * @param call the steps of the call
   * @param limit how many shape bindings keep their code
   */
  constructor(
    private readonly frame: Frame,
    private readonly table: SymbolTable,
    private readonly rebuild: () => Recorder,
    private readonly call: () => MatchedCall,
    private readonly limit: () => number,
    private readonly functionName: string,
    private readonly onDecline: () => void = () => undefined,
    /** Makes what rebuilds the current segment when it is over; null where a call is remembered longer than that. */
    private readonly rebuildLater: (() => () => Recorder) | null = null,
  ) {
    this.before = new CasesBefore(frame, table.cases);
  }

  /** A new segment begins. */
  reset(): void {
    this.recorder = null;
    this.frame.spares.clear();
  }

  /** Whether a matched step has sizes that are not worth code. */
  declines(step: Exclude<MakingStep, { kind: 'region' }>): boolean {
    const { shapes } = this.frame;
    if (shapes.specs.has(step) || this.recorder !== null) return false;
    if (this.table.bindings.admits(shapes, this.limit())) return false;
    this.onDecline();
    return true;
  }

  /** Makes the results of a matched step that is not yet in the path. */
  produce(step: Exclude<MakingStep, { kind: 'region' }>): readonly (OutSpec | null)[] {
    const { frame } = this;
    let outs = frame.shapes.specs.get(step);
    if (outs === undefined && this.recorder === null) outs = this.known(step) ?? undefined;
    if (outs === undefined || this.recorder !== null) {
      this.recorder ??= this.rebuild();
      outs = rebuildStep(this.recorder, step);
      this.note(step, outs);
    }
    if (step.kind === 'op')
      for (let i = step.outs.length; i < outs.length; i++) frame.spares.add(outs[i]!.slot);
    return outs;
  }

  /** Notes what a step makes at the present sizes. */
  note(
    step: MakingStep,
    outs: readonly (OutSpec | null)[],
    shapes: ShapeBinding = this.frame.shapes,
  ): void {
    const { frame, table } = this;
    if (shapes.parent === null) return;
    shapes.specs.set(step, outs);
    if (this.rebuildLater === null) return;
    const { number, sizes } = this.placeOf(step, shapes);
    shapes.cases.set(step, table.results.note(step, outs, frame, number, sizes));
  }

  /** What a step makes at sizes that were not met before, if those that were tell. */
  known(step: MakingStep): readonly (OutSpec | null)[] | null {
    if (this.rebuildLater === null || this.recorder !== null) return null;
    const { shapes } = this.frame;
    const { number, sizes } = this.placeOf(step, shapes);
    const known = this.table.results.at(step, this.frame, number, sizes);
    if (known === null) return null;
    shapes.specs.set(step, known.outs);
    shapes.cases.set(step, known.of);
    return known.outs;
  }

  /** Behind which cases a step is, and the sizes of which it makes others: those of the call, and what is left of them. */
  private placeOf(
    step: MakingStep,
    shapes: ShapeBinding,
  ): { readonly number: number; readonly sizes: readonly number[] } {
    const { frame } = this;
    const { number, remainders } = this.before.of(this.call().path, step);
    const own = remaindersOf(step, frame);
    if (own.length > 0) shapes.remainders.set(step, own);
    return { number, sizes: [...frame.symbolValues(), ...remainders, ...own] };
  }

  /** The cases in which the steps of the current segment are; null if nothing is known of one of them. */
  get cases(): string | null {
    if (this.rebuildLater === null) return null;
    const { path, matched } = this.call();
    const inside = new Set<Step>();
    const { number } = this.before.of(path);
    if (number < 0) return null;
    let cases = `${number}`;
    for (const step of matched) {
      if (inside.has(step)) continue;
      const isRegion = step.kind === 'region';
      const of = isRegion ? caseOf(step, [], this.frame) : this.frame.shapes.caseOf(step);
      if (of !== null) cases += `|${of}`;
      // Those inside are looked at where the region as a whole has no case.
      else if (!isRegion) return null;
      if (isRegion && of !== null) for (const inner of step.jump!.steps) inside.add(inner);
    }
    return cases;
  }

  /** The sizes of which the graph of the current segment is a sample: those of the call, and what was left of them. */
  get point(): readonly number[] {
    return [...this.frame.symbolValues(), ...this.before.of(this.call().path).remainders];
  }

  /** Whether results are being made by rebuilding, which binds them. */
  get rebuilding(): boolean {
    return this.recorder !== null;
  }

  /** Follows what was matched without making results: a step, or those of a region that was jumped over. */
  follow(entry: Step | readonly Step[]): void {
    if (this.recorder !== null) rebuildEntry(this.recorder, entry);
  }

  /** The code of a segment for the sizes of this call. */
  segmentFor(template: Segment): Segment {
    const { shapes } = this.frame;
    let segment = shapes.segments.get(template);
    if (segment === undefined || !segment.fits(this.frame)) {
      segment = this.proven(template) ?? this.recorded(template);
      shapes.segments.set(template, segment);
    }
    this.table.bindings.touch(shapes, this.limit());
    return segment;
  }

  /** The code that is known to be that of these sizes. */
  private proven(template: Segment): Segment | null {
    const { frame, recorder, rebuildLater } = this;
    if (recorder !== null || rebuildLater === null) return null;
    const { point } = this;
    return ProvenSegment.for(template, frame, this.cases, point, () => {
      const later = rebuildLater();
      return () => {
        const segment = later().finishSegment();
        segment.point = point;
        template.adopt(this.sizes, segment);
        return segment;
      };
    });
  }

  private recorded(template: Segment): Segment {
    log('perf', () => `Specializing ${this.functionName} for ${this.sizes.join(', ')}`);
    const segment = (this.recorder ?? this.rebuild()).finishSegment();
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
