/**
 * @file `Decisions`: the numbers that decide what a call of a model does, besides the sizes of its inputs.
 *
 * A traced call is one unit that a later call may match as a whole (`trustedRegion`), if these are the same: initialisers
 * whose numbers were read, and inputs that choose a branch (`decidingInputs`), such as the rate of the samples that a
 * model is given. Each call reads those before anything is traced, as long as they take few values: each has a trace of
 * its own. Where they take many (a token that ends a loop), they are read in the trace, which ends a graph.
 */
import { type Tensor, isFloatingPoint, isTensor } from '@tessera/tensor';
import type { KnownNumbers } from './known-numbers.js';
import { HostArray, isExact, readHost } from './run/host-array.js';
import type { Value } from './run/value.js';

/** Numbers of an input that may choose, and how many values they may take. */
const FEW = 4;

/** See the file header. */
export class Decisions {
  /** What was read of tensors of the model. */
  private readonly numbers = new WeakMap<Tensor, HostArray | undefined>();
  /** Counts the changes of numbers that were read. */
  private changes = 0;
  /** Values that inputs have taken, as text. */
  private readonly taken: Map<string, Set<string>>;

  /** @param inputs those that may choose a branch */
  constructor(
    private readonly known: KnownNumbers,
    inputs: Iterable<string>,
  ) {
    this.taken = new Map(Array.from(inputs, (name) => [name, new Set()]));
  }

  /** The numbers of a tensor of the model, which decide something from now on. */
  read(tensor: Tensor): HostArray | undefined {
    const now = this.known.of(tensor);
    if (!this.numbers.has(tensor)) this.numbers.set(tensor, now);
    return now;
  }

  /** The inputs, with the numbers of those that choose; they are backed by their tensors. */
  decided(named: ReadonlyMap<string, Value>): Map<string, Value> {
    const result = new Map(named);
    for (const [name, taken] of this.taken) {
      const value = named.get(name);
      if (!isTensor(value) || !mayChoose(value) || taken.size > FEW) continue;
      const { dtype, shape, data } = readHost(value);
      const numbers = new HostArray(dtype, shape, data, false, (device) => value.to(device));
      if (isExact(numbers) && taken.add(`[${shape}] ${data}`).size <= FEW)
        result.set(name, numbers);
    }
    return result;
  }

  /** What a call with these inputs and initialisers depends on besides their tensors, as text. */
  keyOf(named: ReadonlyMap<string, Value>, initializers: readonly Tensor[]): string {
    for (const tensor of initializers) {
      if (!this.numbers.has(tensor)) continue;
      const now = this.known.of(tensor);
      if (now === this.numbers.get(tensor)) continue;
      this.numbers.set(tensor, now);
      this.changes++;
    }
    const inputs = Array.from(named, ([name, value]) => {
      if (value instanceof HostArray) return `${name} = [${value.shape}] ${value.data}`;
      return Array.isArray(value) ? `${name} of ${value.length}` : name;
    });
    return `${this.changes}: ${inputs.join('; ')}`;
  }
}

function mayChoose({ device, numel, dtype }: Tensor): boolean {
  return device === 'cpu' && numel <= FEW && !isFloatingPoint(dtype);
}
