/**
 * @file `StepSamples`: what the steps of split graphs are at sizes at which no graph was made.
 */
import { type GraphModule, GraphSamples, type SampledGraph } from '@tessera/graph';
import { programKey } from './program-key.js';

/** See the file header. One for all graphs that one captured graph is made into. */
export class StepSamples {
  private readonly samples = new Map<string, GraphSamples>();

  /** Notes a step of a graph that was made for sizes. @param sizes numbers of symbols and their values, in turns */
  add(module: GraphModule, name: string, sizes: readonly number[]): SampledGraph | null {
    const key = programKey(module, name);
    let samples = this.samples.get(key);
    if (samples === undefined) this.samples.set(key, (samples = new GraphSamples()));
    return samples.add(module, sizes);
  }
}
