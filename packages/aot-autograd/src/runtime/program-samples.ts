/**
 * @file `ProgramSamples`: what a program is at sizes, known from those at which it was made.
 */
import { GraphSamples } from '@tessera/graph';
import type { GraphCompiler } from '../graph-compiler.js';
import type { BackwardVariant } from './compiled-backward.js';
import { ViewSamples } from './view-samples.js';

/** See the file header. One for all sizes of a program. */
export class ProgramSamples {
  readonly views: ViewSamples = new ViewSamples();
  /** Of the backward graph. */
  readonly backward: GraphSamples = new GraphSamples();
  /** Parts of the backward graph that were compiled last, at whatever sizes, by the gradients that arrived. */
  readonly variants: Map<string, BackwardVariant> = new Map();
}

/** A program at sizes, as one of the samples. */
export interface ProgramSample {
  readonly of: ProgramSamples;
  /** Numbers of symbols and their values, in turns. */
  readonly sizes: readonly number[];
  /** The compiler of the backward graph at other sizes. */
  readonly compilerAt: (sizes: readonly number[]) => GraphCompiler;
}
