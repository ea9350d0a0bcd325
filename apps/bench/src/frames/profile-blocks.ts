/**
 * @file What a page did in its longest blocks, from samples of its stack.
 */
import type { Block } from './block-watch.js';

/** What the debugger's profiler gives (`Profiler.Profile`); times in µs. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string };
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A long block, and the calls that it was in for most of its time, outermost first. */
export interface ExplainedBlock {
  readonly ms: number;
  /** Of them, those in JavaScript of the page: in the rest, other processes had the cores, or memory was collected. */
  readonly scriptMs: number;
  /** Milliseconds from the call to where it begins. */
  readonly atMs: number;
  /** Calls, each with its part of the time in JavaScript; down to where no single call takes much of it. */
  readonly calls: readonly string[];
}

/** Part of a block that a call must take to be named: at least half, so that each is in the one before. */
const MAIN_PART = 0.5;
/** Calls nearest to where the time went that are told. */
const CALLS_TOLD = 8;
/** What is no work of the page: the engine's own entries, and `BlockWatch`. */
const NO_SCRIPT = /^\/\((?!anonymous)|\/watch(Tasks|Frames)(\/|$)/;

/** When a page made the call and where its clock begins on that of the profile, in ms. */
export interface PageClock {
  readonly origin: number;
  readonly calledAt: number;
}

/** The blocks with the most JavaScript, longest first. */
export function explainBlocks(
  profile: CpuProfile,
  blocks: readonly Block[],
  { origin, calledAt }: PageClock,
): ExplainedBlock[] {
  const stacks = stacksOf(profile);
  const explained = blocks.map((block): ExplainedBlock => {
    const from = 1000 * (block.start + origin);
    const to = from + 1000 * block.ms;
    const taken = new Map<string, number>();
    let script = 0;
    let at = profile.startTime;
    profile.samples.forEach((sample, i) => {
      at += profile.timeDeltas[i]!;
      // A sample stands for the time until the next one.
      const end = at + (profile.timeDeltas[i + 1] ?? 0);
      const time = Math.min(end, to) - Math.max(at, from);
      const stack = stacks.get(sample)!;
      if (time <= 0 || stack.length === 0 || NO_SCRIPT.test(stack.at(-1)!)) return;
      script += time;
      for (const path of stack) taken.set(path, (taken.get(path) ?? 0) + time);
    });
    const main = [...taken].filter(([, time]) => time >= MAIN_PART * script);
    main.sort(([a], [b]) => a.length - b.length);
    const calls = main.map(
      ([path, time]) =>
        `${path.slice(path.lastIndexOf('/') + 1)} ${Math.round((100 * time) / script)}%`,
    );
    return {
      ms: block.ms,
      scriptMs: script / 1000,
      atMs: block.start - calledAt,
      calls: calls.slice(-CALLS_TOLD),
    };
  });
  return explained.sort((a, b) => b.scriptMs - a.scriptMs);
}

/** Per node of the profile, the paths to it and to each of its callers; none for the root. */
function stacksOf({ nodes }: CpuProfile): Map<number, readonly string[]> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stacks = new Map<number, readonly string[]>();
  const visit = (id: number, stack: readonly string[]): void => {
    stacks.set(id, stack);
    for (const child of byId.get(id)!.children ?? []) {
      const name = byId.get(child)!.callFrame.functionName || '(anonymous)';
      visit(child, [...stack, `${stack.at(-1) ?? ''}/${name}`]);
    }
  };
  if (nodes.length > 0) visit(nodes[0]!.id, []);
  return stacks;
}
