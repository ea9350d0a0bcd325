/**
 * @file `useFreezing`: graphs whose parameters are constants, and convolutions channels last.
 */
import { layoutOptimization } from '../layout-optimization.js';
import { freezingPipeline } from '../pipeline.js';
import { registerFreezing } from './freezing-code.js';
import { freezeFunction } from './frozen-function.js';

/**
 * Brings what `config.freezing` and `config.layoutOptimization` ask for, which pages leave out otherwise. Node has it
 * from the start; pages that set these options call this before they compile.
 */
export function useFreezing(): void {
  registerFreezing({ freezeFunction, freezingPipeline, layoutOptimization });
}
