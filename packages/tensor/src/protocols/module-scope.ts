/**
 * @file `moduleScope`: which modules are running, for tracers that note where an op comes from.
 */

const running: object[] = [];

/** Runs `fn` as part of a module's forward. */
export function moduleScope<R>(module: object, fn: () => R): R {
  running.push(module);
  try {
    return fn();
  } finally {
    running.pop();
  }
}

/** Modules whose forward runs now, outermost first. */
export function runningModules(): readonly object[] {
  return running;
}
