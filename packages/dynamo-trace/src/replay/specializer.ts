/**
 * @file `Specializer`: what a replay does differently when the trace has symbols.
 *
 * For sizes that were met before, the metadata of every result and the compiled code hang on the call's
 * `SizeTuple`, and a matched op costs one look-up more. For new sizes the matched steps are rebuilt, as
 * they are matched, by a capture on twins of the present sizes: the operators' own shape rules give the
 * results' metadata, so nothing is extrapolated, and the rebuilt graph is compiled for these sizes. The
 * function is not traced again: its steps are.
 */
import { log } from '@tessera/shared';
import { adoptStep } from '../capture/adopt-step.js';
import type { Capture } from '../capture/capture.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import type { Run } from '../trace/run.js';
import type { Segment } from '../trace/segment.js';
import type { BackwardStep, OpStep, OutSpec, Step } from '../trace/step.js';

/** See the file header. One per replay. */
export class Specializer {
  /** Rebuilds the current segment; null while everything is known. */
  private capture: Capture | null = null;

  /**
   * @param rebuild a capture that has adopted the steps matched so far in the segment
   * @param limit how many size tuples keep their code
   */
  constructor(
    private readonly run: Run,
    private readonly table: SymbolTable,
    private readonly rebuild: () => Capture,
    private readonly limit: () => number,
    private readonly functionName: string,
  ) {}

  /** A new segment begins. */
  reset(): void {
    this.capture = null;
    this.run.spares.clear();
  }

  /** Makes the results of a matched step that is not yet among the matched ones. */
  produce(step: OpStep | BackwardStep): readonly (OutSpec | null)[] {
    const { run } = this;
    let outs = run.tuple.specs.get(step);
    if (outs === undefined || this.capture !== null) {
      this.capture ??= this.rebuild();
      adoptStep(this.capture, step);
      outs = this.capture.lastOuts;
      run.tuple.specs.set(step, outs);
    }
    if (step.kind === 'op')
      for (let i = step.outs.length; i < outs.length; i++) run.spares.add(outs[i]!.slot);
    return outs;
  }

  /** Whether results are being made by rebuilding, which binds them. */
  get rebuilding(): boolean {
    return this.capture !== null;
  }

  /** Follows steps that were matched without making results. */
  follow(...steps: readonly Step[]): void {
    if (this.capture !== null) for (const step of steps) adoptStep(this.capture, step);
  }

  /** The code of a segment for the sizes of this call. */
  segmentFor(template: Segment): Segment {
    const { tuple } = this.run;
    let segment = tuple.segments.get(template);
    if (segment === undefined || !segment.fits(this.run)) {
      const sizes = tuple.values.map(([index, value]) => {
        const entry = this.table.entries[index]!;
        return `${entry.symbol.name} = ${value} (${entry.source})`;
      });
      const { tuples } = this.table;
      log('perf', () => `Specializing ${this.functionName} for ${sizes.join(', ')}`);
      segment = (this.capture ?? this.rebuild()).finishSegment();
      // Sizes that keep changing are not worth compiling before they come a second time.
      if (tuples.size >= this.limit()) segment.uncompiledRuns = 1;
      template.addSpecialization(sizes, segment);
      tuple.segments.set(template, segment);
    }
    this.table.tuples.touch(tuple, this.limit());
    return segment;
  }
}
