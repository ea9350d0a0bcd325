/**
 * @file The registry of graph breaks, of which docs/graph-breaks.md is made. What runs needs the hints alone.
 */
import { BREAK_HINTS as hints, type GraphBreakCode } from './graph-breaks.js';

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
    hint: hints.GB0001,
  },
  GB0002: {
    title: 'A shape depends on values',
    explanation:
      'The size of the result of this operator (`nonzero`, `maskedSelect`, `unique`, an index by a mask) is known only once its input is computed, and later operators need it.',
    hint: hints.GB0002,
  },
  GB0003: {
    title: '`graphBreak()` was called',
    explanation: 'The program asked for the graph to end here.',
    hint: hints.GB0003,
  },
  GB0004: {
    title: 'A function that is never traced was called',
    explanation:
      'A function under `disable()`, `withSavedTensorHooks()` or `detectAnomaly()`, and a step of `LBFGS`, is never traced: what it is given must be computed before it runs.',
    hint: hints.GB0004,
  },
  GB0005: {
    title: '`backward()` reaches history outside the graph',
    explanation:
      'The backward pass goes through operators that ran before this graph began, or calls a hook, so the eager engine runs it. What it gives with `createGraph` cannot be differentiated again (error `double-backward-compiled`).',
    hint: hints.GB0005,
  },
  GB0006: {
    title: 'A generator was made',
    explanation:
      'The body of a generator runs when its steps are asked for, after the call has ended: eagerly, as under `torch.compile`.',
    hint: hints.GB0006,
  },
  GB0007: {
    title: 'A custom autograd function cannot be recorded',
    explanation:
      'The `backward` of a `Function` reads values, uses tensors that its context does not hold, or keeps tensors in an array, Map or Set of the program or on its class, so it runs as ordinary JavaScript.',
    hint: hints.GB0007,
  },
  GB0008: {
    title: 'A layout was changed in place',
    explanation:
      'An operator such as `t_`, `squeeze_` or `detach_` changes what a tensor is, not only its values, for everybody who holds it.',
    hint: hints.GB0008,
  },
  GB0009: {
    title: 'Memory was changed outside the graph',
    explanation:
      'Memory that recorded operators read was about to be written or released by something that is not recorded: `dispose()`, raw values, or code that runs while an async function waits. So is the state of the random generator after draws (`manualSeed`, `getRngState`).',
    hint: hints.GB0009,
  },
  GB0010: {
    title: 'A hook sees a gradient',
    explanation:
      'Code of the user runs in the middle of `backward()` (`registerHook`, `registerPostAccumulateGradHook`), so the engine runs it over the compiled forward pass. A hook that is set on an input of the graph ends the graph, so that it belongs to the history that the input has by then. Behind a value whose gradient is watched (by a hook, `retainGrad()`, `grad()` or `backward({ inputs })`) the graph ends, as gradients inside compiled code are out of sight. So it does behind a `backward()` that calls hooks of modules.',
    hint: hints.GB0010,
  },
  GB0011: {
    title: 'Whether a tensor takes gradients was changed',
    explanation:
      '`requiresGrad_()`, or an assignment to `requiresGrad`, changes what `backward()` does with a tensor for everybody who holds it. A value made inside needs no break, unless it, or what leads to it, is a result.',
    hint: hints.GB0011,
  },
};
