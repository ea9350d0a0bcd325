/**
 * @file Why a capture ends a graph early. Each kind of graph break has a code that stays.
 */

/** Code of a graph break. */
export type GraphBreakCode =
  `GB00${'01' | '02' | '03' | '04' | '05' | '06' | '07' | '08' | '09' | '10' | '11'}`;

/** What to do about each kind of graph break. The rest that is known of them is in graph-break-table.ts. */
export const BREAK_HINTS: Readonly<Record<GraphBreakCode, string>> = {
  GB0001:
    'Read values after the compiled function, or express the choice with tensor operators such as `where`.',
  GB0002:
    'Keep the full shape and mask instead (`where`, `mul` by the mask), or move the operator out of the compiled function.',
  GB0003: 'Remove the call to get one graph.',
  GB0004:
    'Remove `disable`, or call the function before or after the part that should be one graph. The closure of an LBFGS step can be a compiled function itself.',
  GB0005:
    'Run the forward pass that made the loss inside the same compiled function, without a break between.',
  GB0006: 'Compile the function that computes one step, and call it from the generator.',
  GB0007:
    'Write `backward` with tensor operators only, give it every tensor through `saveForBackward` or as a property of the context, and look at gradients with hooks.',
  GB0008: 'Use the form that returns a view: `t()`, `squeeze()`, `detach()`.',
  GB0009:
    'Write with operators (`copy_`, `fill_`), and change the arguments of a pending async call only after it.',
  GB0010: 'Change gradients after `backward()` instead of in a hook.',
  GB0011:
    'For gradients of what is computed inside, use `grad` or `vjp` of `@tessera/tensor/func`. To train one model through another, give the optimizer the parameters of one and leave the flags, or set them outside of the function.',
};

/** One graph break: its kind, and what happened in words. */
export interface BreakReason {
  readonly code: GraphBreakCode;
  readonly text: string;
}

/** The reason of `requiresGrad_()`. */
export const REQUIRES_GRAD_SET: BreakReason = {
  code: 'GB0011',
  text: 'requiresGrad_() changed whether a tensor takes gradients',
};

/** The reason of every read. */
export const VALUE_READ: BreakReason = { code: 'GB0001', text: 'the value of a tensor was read' };

/** The reason of a write, or a release, of memory that recorded operators read. */
export const MEMORY_CHANGED: BreakReason = {
  code: 'GB0009',
  text: 'memory that recorded operators read was about to be changed outside the graph',
};

/** The reason of a graph that ends after a `backward()` inside it. */
export const HOOK_CALLED: BreakReason = {
  code: 'GB0010',
  text: 'backward() calls a hook of a module',
};

/** The reason of a look at the random generator, or a change of it, that comes after recorded draws. */
export const GENERATOR_ACCESSED: BreakReason = {
  code: 'GB0009',
  text: 'the random generator was read or set after recorded draws',
};

/** The reason of a generator. */
export const GENERATOR_MADE: BreakReason = {
  code: 'GB0006',
  text: 'a generator was made, whose body runs eagerly',
};

/** The reason of a `backward()` that the engine runs. */
export const BACKWARD_OUTSIDE: BreakReason = {
  code: 'GB0005',
  text: 'backward() or grad() reaches history outside this graph',
};

/** The reason of a hook on a tensor that recorded operators use. */
export const HOOK_SET: BreakReason = {
  code: 'GB0010',
  text: 'a hook was set on the gradient of a tensor after recorded operators used it',
};

/** The reason of a graph that ends behind a value whose gradient somebody watches. */
export const WATCHED: BreakReason = {
  code: 'GB0010',
  text: 'the gradient of an intermediate value is watched',
};

/** The reason of a `backward()` that calls hooks. */
export const HOOKED_LEAF: BreakReason = {
  code: 'GB0010',
  text: 'backward() calls a hook on the gradient of a leaf',
};
