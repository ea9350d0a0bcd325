/**
 * @file The registry of graph breaks: every reason for which a capture ends a graph early.
 *
 * Each has a code that stays, an explanation and a hint; docs/graph-breaks.md is this table.
 */

/** Code of a graph break. */
export type GraphBreakCode =
  | 'GB0001'
  | 'GB0002'
  | 'GB0003'
  | 'GB0004'
  | 'GB0005'
  | 'GB0006'
  | 'GB0007'
  | 'GB0008'
  | 'GB0009'
  | 'GB0010'
  | 'GB0011';

/** What is known about a kind of graph break. */
export interface GraphBreakEntry {
  readonly title: string;
  readonly explanation: string;
  readonly hint: string;
}

/** All kinds of graph break. */
export const GRAPH_BREAKS: Readonly<Record<GraphBreakCode, GraphBreakEntry>> = {
  GB0001: {
    title: 'The value of a tensor was read',
    explanation:
      'The program asked for numbers (`item()`, `toArray()`, printing, an index or a branch that depends on them), so everything recorded so far had to be computed.',
    hint: 'Read values after the compiled function, or express the choice with tensor operators such as `where`.',
  },
  GB0002: {
    title: 'A shape depends on values',
    explanation:
      'The size of the result of this operator (`nonzero`, `maskedSelect`, `unique`, an index by a mask) is known only once its input is computed, and later operators need it.',
    hint: 'Keep the full shape and mask instead (`where`, `mul` by the mask), or move the operator out of the compiled function.',
  },
  GB0003: {
    title: '`graphBreak()` was called',
    explanation: 'The program asked for the graph to end here.',
    hint: 'Remove the call to get one graph.',
  },
  GB0004: {
    title: 'A function that is never traced was called',
    explanation:
      'A function under `disable()`, `withSavedTensorHooks()` or `detectAnomaly()` is never traced: what it is given must be computed before it runs.',
    hint: 'Remove `disable`, or call the function before or after the part that should be one graph.',
  },
  GB0005: {
    title: '`backward()` reaches history outside the graph',
    explanation:
      'The backward pass goes through operators that ran before this graph began, or calls a hook, so the eager engine runs it. What it gives with `createGraph` cannot be differentiated again (error `double-backward-compiled`).',
    hint: 'Run the forward pass that made the loss inside the same compiled function, without a break between.',
  },
  GB0006: {
    title: 'A generator yielded',
    explanation: 'Between two steps of a generator its tensors belong to the caller.',
    hint: 'Collect the results in an array and return it.',
  },
  GB0007: {
    title: 'A custom autograd function cannot be recorded',
    explanation:
      'The `backward` of a `Function` reads values, uses tensors that its context does not hold, or keeps tensors in an array, Map or Set of the program or on its class, so it runs as ordinary JavaScript.',
    hint: 'Write `backward` with tensor operators only, give it every tensor through `saveForBackward` or as a property of the context, and look at gradients with hooks.',
  },
  GB0008: {
    title: 'A layout was changed in place',
    explanation:
      'An operator such as `t_`, `squeeze_` or `detach_` changes what a tensor is, not only its values, for everybody who holds it.',
    hint: 'Use the form that returns a view: `t()`, `squeeze()`, `detach()`.',
  },
  GB0009: {
    title: 'Memory was changed outside the graph',
    explanation:
      'Memory that recorded operators read was about to be written or released by something that is not recorded: `dispose()`, raw values, or code that runs while an async function waits. So is the state of the random generator after draws (`manualSeed`, `getRngState`).',
    hint: 'Write with operators (`copy_`, `fill_`), and change the arguments of a pending async call only after it.',
  },
  GB0010: {
    title: 'A hook sees a gradient',
    explanation:
      'Code of the user runs in the middle of `backward()` (`registerHook`, `registerPostAccumulateGradHook`), so the engine runs it over the compiled forward pass. A hook that is set on an input of the graph ends the graph, so that it belongs to the history that the input has by then. Behind a value whose gradient is watched (by a hook, `retainGrad()`, `grad()` or `backward({ inputs })`) the graph ends, as gradients inside compiled code are out of sight. So it does behind a `backward()` that calls hooks of modules.',
    hint: 'Change gradients after `backward()` instead of in a hook.',
  },
  GB0011: {
    title: 'Whether a tensor takes gradients was changed',
    explanation:
      '`requiresGrad_()`, or an assignment to `requiresGrad`, changes what `backward()` does with a tensor for everybody who holds it. A value made inside needs no break, unless it, or what leads to it, is a result.',
    hint: 'For gradients of what is computed inside, use `grad` or `vjp` of `@tessera/tensor/func`. To train one model through another, give the optimizer the parameters of one and leave the flags, or set them outside of the function.',
  },
};

/** One graph break: its kind, and what happened in words. */
export interface BreakReason {
  readonly code: GraphBreakCode;
  readonly text: string;
}

/** A reason; `text` says what happened. */
export function breakReason(code: GraphBreakCode, text: string): BreakReason {
  return { code, text };
}

/** The reason of `requiresGrad_()`. */
export const REQUIRES_GRAD_SET: BreakReason = breakReason(
  'GB0011',
  'requiresGrad_() changed whether a tensor takes gradients',
);

/** The reason of every read. */
export const VALUE_READ: BreakReason = breakReason('GB0001', 'the value of a tensor was read');

/** The reason of a write, or a release, of memory that recorded operators read. */
export const MEMORY_CHANGED: BreakReason = breakReason(
  'GB0009',
  'memory that recorded operators read was about to be changed outside the graph',
);

/** The reason of a graph that ends after a `backward()` inside it. */
export const HOOK_CALLED: BreakReason = breakReason(
  'GB0010',
  'backward() calls a hook of a module',
);

/** The reason of a look at the random generator, or a change of it, that comes after recorded draws. */
export const GENERATOR_ACCESSED: BreakReason = breakReason(
  'GB0009',
  'the random generator was read or set after recorded draws',
);

/** The reason of a `backward()` that the engine runs. */
export const BACKWARD_OUTSIDE: BreakReason = breakReason(
  'GB0005',
  'backward() or grad() reaches history outside this graph',
);

/** The reason of a hook on a tensor that recorded operators use. */
export const HOOK_SET: BreakReason = breakReason(
  'GB0010',
  'a hook was set on the gradient of a tensor after recorded operators used it',
);

/** The reason of a graph that ends behind a value whose gradient somebody watches. */
export const WATCHED: BreakReason = breakReason(
  'GB0010',
  'the gradient of an intermediate value is watched',
);

/** The reason of a `backward()` that calls hooks. */
export const HOOKED_LEAF: BreakReason = breakReason(
  'GB0010',
  'backward() calls a hook on the gradient of a leaf',
);
