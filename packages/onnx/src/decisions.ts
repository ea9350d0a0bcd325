/**
 * @file `Decisions`: the numbers that decide what a call of a model does, besides the sizes of its inputs.
 *
 * A traced call is one unit that a later call may match as a whole (`trustedRegion`), if these are the same: initialisers
 * whose numbers were read, and inputs whose numbers were, such as the rate of the samples that a model is given. Which
 * inputs those are the graph shows (`decidingInputs`), or that they are read; each call reads them before anything is
 * traced.
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import type { KnownNumbers } from './known-numbers.js';
import { HostArray, isExact, isFew, readHost } from './run/host-array.js';
import type { Value } from './run/value.js';

/** See the file header. */
export class Decisions {
  private readonly numbers = new Map<Tensor, HostArray | undefined>();
  /** Counts the changes of numbers that were read. */
  private changes = 0;

  /** @param inputs those that are known to decide something */
  constructor(
    private readonly known: KnownNumbers,
    private readonly inputs: Set<string>,
  ) {}

  /** The numbers of a tensor of the model, which decide something from now on. */
  read(tensor: Tensor): HostArray | undefined {
    const now = this.known.of(tensor);
    if (!this.numbers.has(tensor)) this.numbers.set(tensor, now);
    return now;
  }

  /** The numbers of an input were read, or of what is made of them. */
  noteInput(name: string): void {
    this.inputs.add(name);
  }

  /** The inputs, with the numbers of those that decide something; they are backed by their tensors. */
  decided(named: ReadonlyMap<string, Value>): Map<string, Value> {
    const result = new Map(named);
    for (const name of this.inputs) {
      const value = named.get(name);
      if (!isTensor(value) || value.device !== 'cpu' || !isFew(value)) continue;
      const { dtype, shape, data } = readHost(value);
      const numbers = new HostArray(dtype, shape, data, false, (device) => value.to(device));
      if (isExact(numbers)) result.set(name, numbers);
    }
    return result;
  }

  /** What a call with these inputs depends on besides their tensors, as text. */
  keyOf(named: ReadonlyMap<string, Value>): string {
    for (const [tensor, before] of this.numbers) {
      const now = this.known.of(tensor);
      if (now === before) continue;
      this.numbers.set(tensor, now);
      this.changes++;
    }
    const inputs = Array.from(named, ([name, value]) =>
      value instanceof HostArray ? `${name} = [${value.shape}] ${value.data}` : name,
    );
    return `${this.changes}: ${inputs.join('; ')}`;
  }
}
