/**
 * @file `runningModules`: which modules are running, for tracers that note where an op comes from.
 */

/** Modules whose forward runs now, outermost first. `Module.call` puts itself there. */
export const runningModules: object[] = [];
