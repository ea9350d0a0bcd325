/** @file Public API of the WebAssembly backend. */
export { assembleModule, printModule } from './emit/assemble-module.js';
