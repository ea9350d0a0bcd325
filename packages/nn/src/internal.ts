/**
 * @file `@tessera/nn/internal`: what the compiler asks modules for, without the layers: a program in Node that has none of
 * them loads none. Any release may change it.
 */
export { Module } from './module/module.js';
export { isModuleState } from './module/module-state.js';
