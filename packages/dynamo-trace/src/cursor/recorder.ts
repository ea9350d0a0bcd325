/**
 * @file `Recorder`: what is being recorded of one segment: its graph, guards, values.
 *
 * A cursor that records has one. It continues from any place of a trace, so a replay that diverged hands over in the
 * middle: the matched steps of the segment are rebuilt in a new recorder, which goes on behind them.
 */
import type { Node } from '@tessera/graph';
import { type Tensor } from '@tessera/tensor';
import { requiresGrad } from '@tessera/tensor/internal';
import type { DynamicShapes } from '../dynamic/dynamic-shapes.js';
import type { RegionRecord } from '../events/region.js';
import type { Frame } from '../frame/frame.js';
import type { Sources } from '../guards/sources.js';
import type { TraceOptions } from '../trace-options.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import type { Numbering } from '../trace/entry-point.js';
import type { Segment } from '../trace/segment.js';
import { type OutSpec, specOf } from '../trace/step.js';
import { Alignment } from './alignment.js';
import { SegmentBuilder } from './segment-builder.js';

/** What a recorder needs from its function. */
export interface RecorderOptions extends Pick<TraceOptions, 'backend' | 'fullgraph'> {
  readonly functionName: string;
  readonly sources: Sources;
  /** See `CompileRequest`. */
  readonly program: object;
}

/** See the file header. */
export class Recorder {
  readonly builder: SegmentBuilder = new SegmentBuilder();
  /** Slots of results that the program was given, in order. */
  readonly visible: number[] = [];
  /** The region that is being recorded. */
  region: RegionRecord | null = null;
  /** The older path that this one runs along. */
  alignment: Alignment = new Alignment(null);
  /** Guards of the tensors from before the segment, by slot. */
  readonly guards: Map<number, TensorGuard> = new Map();
  /** Slots of values whose layouts may follow symbols. */
  readonly varying: Set<number> = new Set();
  private finished: Segment | null = null;

  constructor(
    readonly frame: Frame,
    readonly numbering: Numbering,
    readonly options: RecorderOptions,
    readonly shapes: DynamicShapes,
    /** Grad mode in force when the segment began. */
    readonly startGradMode: boolean,
  ) {
    this.builder.gradMode = startGradMode;
  }

  /** Tensors that the segment takes. */
  get inputs(): Tensor[] {
    return this.builder.inputSlots.map((slot) => this.frame.slots[slot]!);
  }

  /** Tensors from before the segment with their guards. */
  get externals(): [Tensor, TensorGuard][] {
    return [...this.guards].map(([slot, guard]) => [this.frame.slots[slot]!, guard]);
  }

  /** Spec of a result: in a slot that exists, in a given one, or in a new one (-1). */
  outSpec(fake: Tensor, existing: number, slot: number): OutSpec {
    const at = existing >= 0 ? existing : slot >= 0 ? slot : this.numbering.slots++;
    return { ...specOf(fake, at), same: existing >= 0, requiresGrad: requiresGrad(fake) };
  }

  /**
   * The tensor of a result: existing, or a new lazy one.
   *
   * @param inner a region that is jumped over keeps it to itself
   */
  bindOut(spec: OutSpec, node: Node | null, inner = false): Tensor {
    const { frame, builder, region } = this;
    const known = frame.slots[spec.slot];
    if (spec.same) {
      if (known!.isLazy) known!.requiresGradFlag = spec.requiresGrad;
      return known!;
    }
    const tensor = known ?? frame.produce(spec);
    builder.addResult(spec.slot, node!);
    if (region !== null) region.produced.add(spec.slot);
    else if (!inner) this.visible.push(spec.slot);
    return tensor;
  }

  /** The segment; nothing more may be recorded of it. */
  finishSegment(): Segment {
    if (this.finished === null) {
      // A graph that stands alone leaves the mode that the program left.
      this.builder.switchGradMode(this.frame.gradMode);
      this.finished = this.builder.finish(this.options, this.startGradMode, this.visible);
    }
    return this.finished;
  }
}
