/**
 * @file Counts calls of Tessera's functions: the first times that code runs, engines optimise none of it, so that its
 * calls are what its time goes by.
 */
import { Session } from 'node:inspector';

/** What a run called. */
export interface CallCounts {
  /** How often each function was called, by its place. */
  readonly of: ReadonlyMap<string, number>;
  readonly functions: number;
  readonly calls: number;
}

/** Functions of Tessera's packages that a run calls, and how often in all. */
export class FunctionCalls {
  private readonly session = new Session();

  constructor() {
    this.session.connect();
    this.session.post('Profiler.enable');
    this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  during(run: () => void): CallCounts {
    this.taken();
    run();
    const of = this.taken();
    return { of, functions: of.size, calls: [...of.values()].reduce((sum, n) => sum + n, 0) };
  }

  private taken(): Map<string, number> {
    const found = new Map<string, number>();
    this.session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      for (const { url, functions } of result) {
        if (!url.includes('@tessera')) continue;
        for (const { functionName, ranges } of functions) {
          const { count, startOffset } = ranges[0]!;
          if (count > 0) found.set(`${functionName} ${url}:${startOffset}`, count);
        }
      }
    });
    return found;
  }

  end(): void {
    this.session.disconnect();
  }
}
