/**
 * @file `@tessera/compile` in Node: the same names, and what writes compilations down. Pages have no files to write, so
 * bundles for browsers have none of it.
 */
import './debug/debug-folder.js';
import './schedule-log.js';

export * from './index.js';
