/**
 * @file Public API of `@tessera/cli`: what its command is made of, for tools that show debug folders themselves.
 */
export { type DebugFolder, type Compilation, openDebugFolder } from './debug-folder.js';
export { readExploration } from './read-exploration.js';
export { readTrace } from './read-trace.js';
export { type ExplorerServer, type ServeOptions, serveDebugFolder } from './serve-debug-folder.js';
