/**
 * @file `traceSizes`: one symbolic graph of a program, traced at as many sizes as it takes.
 *
 * Sizes that turn out to be fixed by the program stay numbers, unless somebody declared that they vary.
 */
import { type SymInt, TesseraError, sizeMod } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { GraphModule } from '../ir/graph-module.js';
import { type Exploration, SizeExplorer, type SizeRequest } from './explore-sizes.js';
import { GraphSymbols } from './graph-symbols.js';
import { programDifference } from './same-program.js';
import type { SizeDomain } from './size-domain.js';
import { singleShape } from '../ir/value-meta.js';
import { type SizedInput, fakesAt } from './sized-inputs.js';
import { GraphUnifier, describeUnfit } from './unify-graphs.js';

/** A size of the inputs. */
export interface DeclaredSize extends SizeRequest {
  /** Somebody said that it varies: that it cannot is an error. */
  readonly declared: boolean;
  /** The range was said too, so that a narrower one is an error. */
  readonly bounded: boolean;
}

/** A trace of the program. */
export interface SizedTrace {
  readonly module: GraphModule;
  /** Per placeholder: number of its input, or -1. */
  readonly placeholders: readonly number[];
}

/** What to trace. */
export interface TraceSizesRequest<T extends SizedTrace> {
  readonly inputs: readonly SizedInput[];
  readonly sizes: readonly DeclaredSize[];
  /** Numbers at which the program may branch. */
  suspects(example: T): readonly number[];
  /** Runs the program on FakeTensors. */
  trace(inputs: readonly Tensor[]): T;
  /** What else must be the same in two traces; words for a difference. */
  difference?(example: T, other: T): string | null;
}

/** What came of it. */
export interface TracedSizes<T> {
  /** The trace of the example, its graph made symbolic. */
  readonly trace: T;
  /** Per size: its symbol, or null where it is fixed. */
  readonly symbols: readonly (SymInt | null)[];
}

/** Traces. @throws constraint-violation, and what the program throws at its example */
export function traceSizes<T extends SizedTrace>(request: TraceSizesRequest<T>): TracedSizes<T> {
  const { sizes } = request;
  const explorer = new SizeExplorer<T>(
    sizes,
    (values) => request.trace(fakesAt(request.inputs, values)),
    (a, b) => programDifference(a.module, b.module) ?? request.difference?.(a, b) ?? null,
    (example) => request.suspects(example),
  );
  const tracer = new SizesTracer(request, explorer);
  const fixed = new Set<number>();
  for (;;) {
    const found = tracer.attempt(fixed);
    if ('trace' in found) return found;
    // Whichever one size makes the rest work is the one that the program fixes.
    const candidates = found.free.filter((i) => !sizes[i].declared);
    if (candidates.length === 0)
      throw violation(sizes[found.free[0]], found.why, 'Do not declare it dynamic.');
    for (const i of candidates) {
      const without = tracer.attempt(new Set([...fixed, i]));
      if ('trace' in without) return without;
    }
    fixed.add(candidates.at(-1)!);
  }
}

/** Why no symbolic graph came of an attempt. */
interface Failure {
  readonly free: readonly number[];
  readonly why: string;
}

class SizesTracer<T extends SizedTrace> {
  constructor(
    private readonly request: TraceSizesRequest<T>,
    private readonly explorer: SizeExplorer<T>,
  ) {}

  /** Traces with some sizes as they are in the example. @throws constraint-violation */
  attempt(fixed: ReadonlySet<number>): TracedSizes<T> | Failure {
    const { sizes, inputs } = this.request;
    const found = this.explorer.explore(fixed);
    found.domains.forEach((domain, i) => {
      if (domain !== null) checkBounds(sizes[i], domain, found, i);
      else if (sizes[i].declared)
        throw violation(sizes[i], constantWords(i, sizes, found), 'Do not declare it dynamic.');
    });
    const free = found.domains.flatMap((domain, i) => (domain === null ? [] : [i]));
    if (found.joint !== null) return { free, why: jointWords(free, sizes, found) };
    const symbols = makeSymbols(free, sizes, found);
    const runs = found.runs.map((run) => ({ sizes: run.sizes, result: run.result.module }));
    if (free.length > 0) {
      const values = free.map((i) => runs.map((run) => run.sizes[i]));
      const unifier = new GraphUnifier(runs, symbols, values);
      if (!unifier.unify()) {
        const at = runs.map((run) => free.map((i) => run.sizes[i]).join(' x '));
        return { free, why: describeUnfit(unifier.unfit!, at) };
      }
    }
    const bySize = sizes.map((_, i) => symbols.symbols[free.indexOf(i)] ?? null);
    const trace = found.runs[0].result;
    trace.module.graph.symbols = symbols;
    shapeInputs(trace, inputs, bySize);
    return { trace, symbols: bySize };
  }
}

/** Sizes of placeholders are what they were declared to be, not what fits; those that are numbers are guarded too. */
function shapeInputs(
  { module, placeholders }: SizedTrace,
  inputs: readonly SizedInput[],
  symbols: readonly (SymInt | null)[],
): void {
  module.graph.placeholders.forEach((node, i) => {
    const input = inputs[placeholders[i]];
    if (input === undefined) return;
    const { strides } = singleShape(node.meta.symbolicVal) ?? input.tensor;
    const sizes = input.tensor.sizes.map((size, dim) => symbols[input.dims[dim]] ?? size);
    node.meta.symbolicVal = { sizes, strides };
  });
}

function makeSymbols(
  free: readonly number[],
  sizes: readonly DeclaredSize[],
  { domains }: Exploration<unknown>,
): GraphSymbols {
  const symbols = new GraphSymbols(
    free.map((i) => {
      const { min, max } = domains[i]!;
      return { hint: sizes[i].hint, source: sizes[i].source, min, max };
    }),
  );
  free.forEach((i, at) => {
    const { step, holes } = domains[i]!;
    const symbol = symbols.symbols[at];
    if (step > 1) symbols.require(sizeMod(symbol, step), '==', sizes[i].hint % step);
    for (const hole of holes) symbols.require(symbol, '!=', hole);
  });
  return symbols;
}

function checkBounds(
  size: DeclaredSize,
  domain: SizeDomain,
  { refusals }: Exploration<unknown>,
  i: number,
): void {
  if (!size.bounded || (domain.min === size.min && domain.max === size.max)) return;
  const range = `min: ${domain.min}${domain.max === Infinity ? '' : `, max: ${domain.max}`}`;
  throw violation(
    size,
    `not all values from ${size.min} to ${size.max} do: at ${refusals[i]!.sizes[i]} ${refusals[i]!.why}`,
    `Declare the range that works: { ${range} }.`,
  );
}

function constantWords(
  i: number,
  sizes: readonly DeclaredSize[],
  { refusals }: Exploration<unknown>,
): string {
  const refusal = refusals[i];
  return `the program specialised it to the constant ${sizes[i].hint}${refusal === null ? '' : `: at ${refusal.sizes[i]} ${refusal.why}`}`;
}

function jointWords(
  free: readonly number[],
  sizes: readonly DeclaredSize[],
  { joint }: Exploration<unknown>,
): string {
  const at = free.map((i) => `${sizes[i].source} = ${joint!.sizes[i]}`).join(', ');
  return `sizes depend on each other: at ${at} ${joint!.why}`;
}

function violation({ source }: DeclaredSize, words: string, hint: string): TesseraError {
  return new TesseraError(
    'constraint-violation',
    `Constraints violated (${source}): it was declared to vary, but ${words}.`,
    { context: { source }, hints: [hint] },
  );
}
